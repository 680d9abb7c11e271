// _dropout: dropout and its mask.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const double p = c.attr("p").f64();
  check(p >= 0 && p <= 1, "p must be in [0, 1], got ", p);
  return c.in[0].shape;
}

static Tensor kept(const Tensor& x, const Tensor& mask, double p) {
  static const Op back{"_dropout_grad"};
  return back({x, mask}, {p < 1 ? 1 / (1 - p) : 0.0});
}

static Tensors from_mask(const Tensor& x, std::span<const Tensor> drawn, const Attrs& attrs) {
  return {kept(x, drawn[1], attrs[0].f64()), drawn[1]};
}

static const RegisterSplitForm split_form{"_dropout", &from_mask};

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
                                 .flops(cost::drawing)
                                 .sbp(sbp::broadcast_only)
                                 .grad("mask",
                                       [](GradCtx& g) {
                                         if (!g.has_dy(0)) return;
                                         g.dx(0, kept(g.dy(), g.out(1), g.attr("p").f64()));
                                       })
                                 .onnx("Dropout");

}  // namespace hw
