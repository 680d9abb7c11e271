// logical_or: the logical or.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("logical_or")
                                 .doc("Returns True where one or both are not zero.")
                                 .in("input", "any shape", any_dtype)
                                 .in("other", "any shape that broadcasts with input", any_dtype)
                                 .promote()
                                 .out("y", dtype::boolean, shape::broadcast)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("Or");

}  // namespace hw
