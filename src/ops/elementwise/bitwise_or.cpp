// bitwise_or: the or of the bits.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("bitwise_or")
                                 .doc("Returns the or of the bits of integers; of bool, the logical or.")
                                 .in("input", "any shape", integral | boolean)
                                 .in("other", "any shape that broadcasts with input", integral | boolean)
                                 .promote()
                                 .numbers(NumberRule::Wraps)
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .onnx("BitwiseOr");

}  // namespace hw
