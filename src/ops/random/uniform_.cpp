// uniform_: random numbers spread evenly over [from, to).
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("from").f64() <= c.attr("to").f64(), "from must not exceed to, got ", c.attr("from").f64(),
                " and ", c.attr("to").f64());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("uniform_")
        .doc("Fills the input in place with random numbers spread evenly over [from, to). Returns it.")
        .in("input", "any shape; overwritten", floating)
        .attr("from", 0.0, "the least value")
        .attr("to", 1.0, "the bound")
        .out("y", dtype::same, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
        .no_onnx("writes in place");

}  // namespace hw
