// bitwise_left_shift: the bits moved up.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("bitwise_left_shift")
                                 .doc("Returns input * 2^other for integers; bits beyond the width are lost.")
                                 .in("input", "any shape", integral)
                                 .in("other", "any shape that broadcasts with input", integral)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .onnx("BitShift(direction=LEFT)");

}  // namespace hw
