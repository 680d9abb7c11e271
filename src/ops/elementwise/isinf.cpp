// isinf: whether it is infinite.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("isinf")
        .doc("Returns True where x is plus or minus infinity; a complex number is infinite if a part is.")
        .in("input", "any shape", any_dtype)
        .promote()
        .out("y", dtype::boolean, shape::same)
        .sbp(sbp::elementwise)
        .no_grad("its output is bool")
        .onnx("IsInf");

}  // namespace hw
