// log2: the logarithm to base 2.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("log2")
        .doc("Returns the logarithm of x to base 2 for each element.")
        .in("input", "any shape", inexact)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input", [](GradCtx& g) { g.dx(0, g.dy() / conj(g.in(0) * 0.6931471805599453)); })
        .onnx("Div(Log(x), 0.6931471805599453)");

}  // namespace hw
