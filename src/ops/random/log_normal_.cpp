// log_normal_: random numbers whose logarithms are normal.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("std").f64() > 0, "std must be positive, got ", c.attr("std").f64());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("log_normal_")
        .doc("Fills the input in place with random numbers whose logarithms are normal. Returns it.")
        .in("input", "any shape; overwritten", floating)
        .attr("mean", 1.0, "the mean of the logarithms")
        .attr("std", 2.0, "their standard deviation")
        .out("y", dtype::same, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
        .no_onnx("writes in place");

}  // namespace hw
