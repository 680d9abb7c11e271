// celu: the continuously differentiable exponential linear unit.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// alpha is divided by.
static DType celu_dtype(const InferCtx& c) {
  const double alpha = c.attr("alpha").f64();
  check_runtime(alpha != 0 && alpha == alpha, "alpha cannot be 0 or NaN, got ", alpha);
  return c.compute;
}

static const RegisterOp op =
    OpDef("celu")
        .doc("Returns max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).")
        .in("input", "any shape", floating)
        .attr("alpha", Scalar(1.0), "the limit at minus infinity is -alpha; not 0")
        .promote(Promote::Floating)
        .out("y", celu_dtype, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const Tensor& x = g.in(0);
                g.dx(0, where(gt(x, number(0)), g.dy(), g.dy() * exp(x / g.attr("alpha").scalar())));
              })
        .onnx("Celu");

}  // namespace hw
