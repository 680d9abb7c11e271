// acosh: the inverse hyperbolic cosine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("acosh")
        .doc("Returns the inverse hyperbolic cosine of x for each element.")
        .in("input", "any shape", inexact)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * conj(rsqrt(g.in(0) - 1) * rsqrt(g.in(0) + 1))); })
        .onnx("Acosh");

}  // namespace hw
