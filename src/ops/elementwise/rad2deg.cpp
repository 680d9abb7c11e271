// rad2deg: radians to degrees.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("rad2deg")
                                 .doc("Returns x * 180 / pi.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::linear)
                                 .grad("", [](GradCtx& g) { g.dx(0, g.dy() * 57.29577951308232); })
                                 .onnx("Mul(x, 57.29577951308232)");

}  // namespace hw
