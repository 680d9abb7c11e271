// bitwise_not: the bits flipped.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("bitwise_not")
                                 .doc("Flips every bit of integers; bool is negated.")
                                 .in("input", "any shape", integral | boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .onnx("BitwiseNot");

}  // namespace hw
