// bitwise_right_shift: the bits moved down.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("bitwise_right_shift")
                                 .doc("Returns floor(input / 2^other) for integers: the sign bit moves in.")
                                 .in("input", "any shape", integral)
                                 .in("other", "any shape that broadcasts with input", integral)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .onnx("BitShift(direction=RIGHT)");

}  // namespace hw
