// exponential_: random numbers of an exponential distribution.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("lambd").f64() > 0, "lambd must be positive, got ", c.attr("lambd").f64());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("exponential_")
        .doc("Fills the input in place with random numbers of an exponential distribution. Returns it.")
        .in("input", "any shape; overwritten", floating)
        .attr("lambd", 1.0, "the rate")
        .out("y", dtype::same, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
        .no_onnx("writes in place");

}  // namespace hw
