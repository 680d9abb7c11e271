// erf: the error function.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("erf")
        .doc("Returns 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x for each element.")
        .in("input", "any shape", floating)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * exp(-square(g.in(0))) * 1.1283791670955126); })
        .onnx("Erf");

}  // namespace hw
