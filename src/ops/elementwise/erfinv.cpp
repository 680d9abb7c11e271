// erfinv: the inverse of the error function.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("erfinv")
        .doc("Returns the y with erf(y) = x; infinite at -1 and 1, NaN beyond.")
        .in("input", "any shape", floating)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .flops(cost::special)
        .sbp(sbp::elementwise)
        .grad("y", [](GradCtx& g) { g.dx(0, g.dy() * exp(square(g.out())) * 0.886226925452758); })
        .no_onnx("ONNX has no inverse of Erf");

}  // namespace hw
