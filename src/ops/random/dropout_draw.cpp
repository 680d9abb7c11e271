// _dropout: dropout and its mask.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const double p = c.attr("p").f64();
  check(p >= 0 && p <= 1, "p must be in [0, 1], got ", p);
  return c.in[0].shape;
}

static const RegisterOp op = OpDef("_dropout")
                                 .doc(
                                     "Returns the input with each element set to zero with probability p and the "
                                     "others divided by 1 - p, and which were kept.")
                                 .in("input", "any shape", inexact)
                                 .attr("p", 0.5, "the probability of a zero")
                                 .out("y", dtype::same, shape_of)
                                 .out("mask", dtype::boolean, shape::same)
                                 .random()
                                 .internal()
                                 .sbp(sbp::broadcast_only)
                                 .grad("mask",
                                       [](GradCtx& g) {
                                         static const Op back{"_dropout_grad"};
                                         if (!g.has_dy(0)) return;
                                         const double p = g.attr("p").f64();
                                         g.dx(0, back({g.dy(), g.out(1)}, {p < 1 ? 1 / (1 - p) : 0.0}));
                                       })
                                 .onnx("Dropout");

}  // namespace hw
