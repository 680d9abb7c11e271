// logical_not: the logical negation.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("logical_not")
                                 .doc("Returns True where x is zero or False.")
                                 .in("input", "any shape", any_dtype)
                                 .promote()
                                 .out("y", dtype::boolean, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("Not");

}  // namespace hw
