// isfinite: whether it is an ordinary number.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("isfinite")
                                 .doc("Returns True where x is neither infinite nor NaN.")
                                 .in("input", "any shape", any_dtype)
                                 .promote()
                                 .out("y", dtype::boolean, shape::same)
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("Not(Or(IsNaN(x), IsInf(x)))");

}  // namespace hw
