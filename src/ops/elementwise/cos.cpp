// cos: the cosine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("cos")
                                 .doc("Returns the cosine of x (radians) for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, -(g.dy() * conj(sin(g.in(0))))); })
                                 .onnx("Cos");

}  // namespace hw
