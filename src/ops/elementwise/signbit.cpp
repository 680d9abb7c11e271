// signbit: whether the sign bit is set.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("signbit")
        .doc("Returns True where the sign bit is set: for negative numbers, -0.0 and NaN with a sign.")
        .in("input", "any shape", real_types)
        .promote()
        .out("y", dtype::boolean, shape::same)
        .sbp(sbp::elementwise)
        .no_grad("its output is bool")
        .onnx("Less(x, 0)");

}  // namespace hw
