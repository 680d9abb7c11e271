// isnan: whether it is not a number.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("isnan")
                                 .doc("Returns True where x is NaN; a complex number is NaN if a part is.")
                                 .in("input", "any shape", any_dtype)
                                 .promote()
                                 .out("y", dtype::boolean, shape::same)
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("IsNaN");

}  // namespace hw
