// normal_: random numbers of a normal distribution.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("std").f64() >= 0, "std cannot be negative, got ", c.attr("std").f64());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("normal_")
        .doc("Fills the input in place with random numbers of a normal distribution. Returns it.")
        .in("input", "any shape; overwritten", floating)
        .attr("mean", 0.0, "the mean")
        .attr("std", 1.0, "the standard deviation")
        .out("y", dtype::same, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
        .no_onnx("writes in place");

}  // namespace hw
