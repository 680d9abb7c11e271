// isposinf: whether it is plus infinity.
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("isposinf")
                                 .doc("Returns True where x is plus infinity.")
                                 .in("input", "any shape", real_types)
                                 .promote()
                                 .out("y", dtype::boolean, shape::same)
                                 .sbp(sbp::elementwise)
                                 .no_grad("its output is bool")
                                 .onnx("IsInf(x, detect_negative=0)");

}  // namespace hw
