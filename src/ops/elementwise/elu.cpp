// elu: the exponential linear unit.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("elu")
        .doc("Returns x where x is positive, else alpha * (exp(x) - 1).")
        .in("input", "any shape", floating)
        .attr("alpha", Scalar(1.0), "the limit at minus infinity is -alpha")
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const Tensor& x = g.in(0);
                g.dx(0, where(gt(x, number(0)), g.dy(), g.dy() * exp(x) * g.attr("alpha").scalar()));
              })
        .onnx("Elu");

}  // namespace hw
