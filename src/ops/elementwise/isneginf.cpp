// isneginf: whether it is minus infinity.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("isneginf")
                                 .doc("Returns True where x is minus infinity.")
                                 .in("input", "any shape", real_types)
                                 .promote()
                                 .out("y", dtype::boolean, shape::same)
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("IsInf(x, detect_positive=0)");

}  // namespace hw
