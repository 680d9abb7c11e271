// bitwise_and: the and of the bits.
#include "op/number_rule.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("bitwise_and")
                                 .doc("Returns the and of the bits of integers; of bool, the logical and.")
                                 .in("input", "any shape", integral | boolean)
                                 .in("other", "any shape that broadcasts with input", integral | boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is integer")
                                 .onnx("BitwiseAnd");
static const RegisterNumberRule numbers{"bitwise_and", NumberRule::Wraps};

}  // namespace hw
