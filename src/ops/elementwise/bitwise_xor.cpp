// bitwise_xor: the xor of the bits.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("bitwise_xor")
                                 .doc("Returns the xor of the bits of integers; of bool, the logical xor.")
                                 .in("input", "any shape", integral | boolean)
                                 .in("other", "any shape that broadcasts with input", integral | boolean)
                                 .promote()
                                 .numbers(NumberRule::Wraps)
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .onnx("BitwiseXor");

}  // namespace hw
