// _layer_norm_grad: the gradient of layer and RMS normalisation.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/norm/layer_norm_rule.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const TensorSpec &dy = c.in[0], &x = c.in[1];
  TensorSpec dx = x, sums;
  dx.strides.clear();
  sums.dtype = statistics_dtype(x.dtype);
  sums.shape = {0};
  if (c.in[4].given()) sums.shape = c.in[4].shape;
  if (dy.shape != x.shape) bug("dy and x of _layer_norm_grad differ in shape");
  TensorSpec bias = sums;
  if (!c.attr("centred").truth()) bias.shape = {0};
  return {dx, sums, bias};
}

/// With h = (x - mean) rstd and g = dy w the op is dx = rstd (g - mean(g) - h mean(g h)), dw = sum(dy h), db = sum(dy). The
/// derivative is taken with mean and rstd as inputs of their own; u, v, z are the gradients that reach dx, dw, db.
static void second_order(GradCtx& g) {
  const bool centred = g.attr("centred").truth(), affine = g.in(4).defined();
  const DType wide = statistics_dtype(g.in_spec(1).dtype);
  const int64_t ndim = g.in_spec(1).ndim(), count = g.attr("axes").i64();
  Dims axes, lead;
  for (int64_t a = 0; a < ndim; ++a) (a < ndim - count ? lead : axes).push_back(a);
  auto row_mean = [&](const Tensor& t) { return mean(t, axes, true); };
  auto row_sum = [&](const Tensor& t) { return sum(t, axes, true); };
  Tensor dy = to(g.in(0), wide), d = to(g.in(1), wide) - g.in(2), rstd = g.in(3), h = d * rstd;
  Tensor gy = affine ? dy * g.in(4) : dy;
  Tensor to_dy, to_h, to_rstd, to_weight;
  auto collect = [](Tensor& into, const Tensor& t) { into = into.defined() ? into + t : t; };
  if (g.has_dy(0)) {
    Tensor u = to(g.dy(0), wide), ug = u, mean_uh = row_mean(u * h), mean_gh = row_mean(gy * h),
           rest = gy - h * mean_gh;
    if (centred) {
      ug = u - row_mean(u);
      rest = rest - row_mean(gy);
    }
    Tensor to_g = rstd * (ug - h * mean_uh);
    to_dy = affine ? to_g * g.in(4) : to_g;
    if (affine) to_weight = dy * to_g;
    to_h = neg(rstd * (u * mean_gh + gy * mean_uh));
    to_rstd = row_sum(u * rest);
  }
  if (affine && g.has_dy(1)) {
    collect(to_dy, h * g.dy(1));
    collect(to_h, dy * g.dy(1));
  }
  if (affine && centred && g.has_dy(2)) collect(to_dy, expand(g.dy(2), dy.shape()));
  g.dx(0, to_dy);
  if (affine && g.needs(4) && to_weight.defined()) g.dx(4, lead.empty() ? to_weight : sum(to_weight, lead));
  if (!to_h.defined()) return;
  g.dx(1, to_h * rstd);
  if (centred && g.needs(2)) g.dx(2, neg(row_sum(to_h * rstd)));
  collect(to_rstd, row_sum(to_h * d));
  g.dx(3, to_rstd);
}

static void rows_split(SbpCtx& c) {
  const int64_t lead = c.in()[1].ndim() - c.attr("axes").i64();
  for (int64_t axis = 0; axis < lead; ++axis)
    c.add({split(axis), split(axis), split(axis), split(axis), broadcast()},
          {split(axis), partial_sum(), partial_sum()});
}

static const RegisterOp op =
    OpDef("_layer_norm_grad")
        .doc("Gradients of _layer_norm with respect to its input, weight and bias (empty without weight).")
        .in("dy", "gradient of y", floating)
        .in("x", "the input", floating)
        .in("mean", "the means", floating)
        .in("rstd", "1 / sqrt(var + eps)", floating)
        .in_optional("weight", "the weight", floating)
        .attr_required("axes", AttrValue::Kind::Int, "how many of the last axes are normalised")
        .attr("centred", true, "whether the mean was subtracted")
        .infer(infer)
        .out("dx")
        .out("dweight")
        .out("dbias")
        .internal()
        .flops(cost::per_input<10>)
        .sbp(rows_split)
        .grad("dy x mean rstd weight", second_order)
        .no_onnx("a gradient");

}  // namespace hw
