// bernoulli_: ones with probability p, else zeros.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("p").f64() >= 0 && c.attr("p").f64() <= 1, "p must be in [0, 1], got ", c.attr("p").f64());
  return c.in[0].shape;
}

static const RegisterOp op = OpDef("bernoulli_")
                                 .doc("Fills the input in place with ones with probability p, else zeros. Returns it.")
                                 .in("input", "any shape; overwritten", real_types)
                                 .attr("p", 0.5, "the probability")
                                 .out("y", dtype::same, shape_of)
                                 .random()
                                 .flops(cost::drawing)
                                 .sbp(sbp::broadcast_only)
                                 .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
                                 .no_onnx("writes in place");

}  // namespace hw
