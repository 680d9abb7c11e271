// floor_divide: the quotient rounded down.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("floor_divide")
                                 .doc(
                                     "Returns floor(input / other). Integers are divided as integers; a zero divisor "
                                     "of integers raises RuntimeError.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("other", "any shape that broadcasts with input", real_types & ~boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .no_grad("it is piecewise constant")
                                 .onnx("Floor(Div(x, y))");

}  // namespace hw
