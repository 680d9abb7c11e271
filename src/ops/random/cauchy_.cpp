// cauchy_: random numbers of a Cauchy distribution.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("sigma").f64() > 0, "sigma must be positive, got ", c.attr("sigma").f64());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("cauchy_")
        .doc("Fills the input in place with random numbers of a Cauchy distribution. Returns it.")
        .in("input", "any shape; overwritten", floating)
        .attr("median", 0.0, "the median")
        .attr("sigma", 1.0, "the half width")
        .out("y", dtype::same, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
        .no_onnx("writes in place");

}  // namespace hw
