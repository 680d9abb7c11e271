// _batch_norm_grad: the gradient of batch normalisation.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const TensorSpec& x = c.in[1];
  TensorSpec dx = x, sums;
  dx.wrapped = false;
  int64_t reach = 1;
  for (size_t a = 0; a < x.shape.size(); ++a) reach += (x.shape[a] - 1) * x.strides[a];
  if (reach != x.numel() || !is_non_overlapping(x.shape, x.strides)) dx.strides.clear();
  sums.dtype = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  sums.shape = {x.shape[1]};
  return {dx, sums, sums};
}

/// With h = (x - mean) rstd: dx = w rstd (dy - m(dy) - h m(dy h)), dw = sum(dy h), db = sum(dy), m being the mean over the channel.
/// mean and rstd are inputs of their own; u, v, z are the gradients that reach dx, dw, db.
static void second_order(GradCtx& g) {
  const DType wide = g.in_spec(2).dtype;
  const int64_t ndim = g.in_spec(1).ndim();
  Dims axes, by_channel(static_cast<size_t>(ndim), 1);
  by_channel[1] = -1;
  for (int64_t a = 0; a < ndim; ++a)
    if (a != 1) axes.push_back(a);
  auto per_channel = [&](const Tensor& t) { return reshape(t, by_channel); };
  auto avg = [&](const Tensor& t) { return mean(t, axes, true); };
  auto total = [&](const Tensor& t) { return sum(t, axes, true); };
  Tensor dy = to(g.in(0), wide), rstd = per_channel(g.in(3)), d = to(g.in(1), wide) - per_channel(g.in(2)),
         h = d * rstd;
  Tensor w = g.in(4).defined() ? per_channel(g.in(4)) : Tensor();
  Tensor to_dy, to_h, to_rstd;
  auto collect = [](Tensor& into, const Tensor& t) { into = into.defined() ? into + t : t; };
  if (g.has_dy(0)) {
    Tensor u = to(g.dy(0), wide), mean_uh = avg(u * h), mean_gh = avg(dy * h);
    Tensor rest = dy - avg(dy) - h * mean_gh, back = u - avg(u) - h * mean_uh;
    Tensor scale = w.defined() ? w * rstd : rstd;
    to_dy = scale * back;
    to_h = neg(scale * (u * mean_gh + dy * mean_uh));
    Tensor inner = total(u * rest);
    to_rstd = w.defined() ? w * inner : inner;
    if (w.defined() && g.needs(4)) g.dx(4, reshape(rstd * inner, {-1}));
  }
  if (g.has_dy(1)) {
    collect(to_dy, h * per_channel(g.dy(1)));
    collect(to_h, dy * per_channel(g.dy(1)));
  }
  if (g.has_dy(2)) collect(to_dy, expand(per_channel(g.dy(2)), dy.shape()));
  g.dx(0, to_dy);
  if (!to_h.defined()) return;
  g.dx(1, to_h * rstd);
  if (g.needs(2)) g.dx(2, reshape(neg(total(to_h * rstd)), {-1}));
  collect(to_rstd, total(to_h * d));
  g.dx(3, reshape(to_rstd, {-1}));
}

static Tensors of_rows(std::span<const Tensor> in, const Attrs&) {
  static const Op fused{"_batch_norm_grad"};
  Tensors out = fused.all(in);
  out.push_back(cat(Tensors{out[1], out[2]}, 0));
  return out;
}

/// dx of the rows alone lacks what the sums of the others make of m(dy) and m(dy h).
static Tensors of_batch(std::span<const Tensor> in, std::span<const Tensor> own, const Tensor& all,
                        std::span<const int64_t> counts, int64_t rank, const Attrs&) {
  static const Op addcmul{"addcmul"};
  const Tensor &x = in[1], &mean = in[2], &rstd = in[3];
  Dims by_channel(static_cast<size_t>(x.ndim()), 1);
  by_channel[1] = -1;
  const int64_t channels = mean.numel();
  const Tensor total = sum(all, {0}, false);
  const Tensor dw = narrow(total, 0, 0, channels), db = narrow(total, 0, channels, channels);
  int64_t rows = 0;
  for (int64_t n : counts) rows += n;
  const double each = static_cast<double>(x.numel()) / static_cast<double>(channels);
  const double batch = each / static_cast<double>(counts[static_cast<size_t>(rank)]) * static_cast<double>(rows);
  Tensor scale = in[4].defined() ? in[4] * rstd : rstd;
  Tensor slope = scale * rstd * (own[1] / Scalar(each) - dw / Scalar(batch));
  Tensor shift = scale * (own[2] / Scalar(each) - db / Scalar(batch)) - slope * mean;
  Tensor dx = to(own[0], mean.dtype()) + reshape(shift, by_channel);
  dx = addcmul({dx, to(x, mean.dtype()), reshape(slope, by_channel)});
  return {to(dx, x.dtype()), dw, db};
}

static const RegisterSplitForm rows{"_batch_norm_grad", RowsForm{1, &of_rows, &of_batch}};

static const RegisterOp op =
    OpDef("_batch_norm_grad")
        .doc("Gradients of _batch_norm with respect to its input, weight and bias.")
        .in("dy", "gradient of y", floating)
        .in("x", "the input", floating)
        .in("mean", "means of the channels", floating)
        .in("rstd", "1 / sqrt(var + eps)", floating)
        .in_optional("weight", "[C]", floating)
        .out("dx")
        .out("dweight")
        .out("dbias")
        .infer(infer)
        .internal()
        .flops(cost::per_input<10>)
        .sbp([](SbpCtx& c) {
          Sbp weight = c.in()[4].given() ? split(0) : broadcast();
          c.add({split(1), split(1), split(0), split(0), weight}, {split(1), split(0), split(0)});
        })
        .grad("dy x mean rstd weight", second_order)
        .no_onnx("a gradient");

}  // namespace hw
