// deg2rad: degrees to radians.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("deg2rad")
                                 .doc("Returns x * pi / 180.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::linear)
                                 .grad("", [](GradCtx& g) { g.dx(0, g.dy() * 0.017453292519943295); })
                                 .onnx("Mul(x, 0.017453292519943295)");

}  // namespace hw
