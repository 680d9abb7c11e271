// logical_xor: the logical xor.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("logical_xor")
                                 .doc("Returns True where exactly one is not zero.")
                                 .in("input", "any shape", any_dtype)
                                 .in("other", "any shape that broadcasts with input", any_dtype)
                                 .promote()
                                 .out("y", dtype::boolean, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("Xor");

}  // namespace hw
