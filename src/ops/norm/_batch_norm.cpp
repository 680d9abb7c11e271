// _batch_norm: normalisation of each channel by its own mean and variance.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  check(x.ndim() >= 2, "input must be [N, C, ...], got ", x.shape);
  const int64_t channels = x.shape[1];
  for (size_t i = 1; i < 3; ++i)
    check_runtime(!c.in[i].given() || c.in[i].shape == Dims{channels}, c.op.inputs()[i].name, " must have shape [",
                  channels, "], got ", c.in[i].shape);
  check(channels == 0 || x.numel() > channels,
        "expected more than one value per channel in training, got input of shape ", x.shape);
  TensorSpec y, mean;
  y.dtype = x.dtype;
  y.shape = x.shape;
  if (is_non_overlapping(x.shape, x.strides) && x.numel() > 0) y.strides = x.strides;  // channels-last stays so
  int64_t reach = 1;
  for (size_t a = 0; a < x.shape.size(); ++a) reach += (x.shape[a] - 1) * (y.strides.empty() ? 0 : y.strides[a]);
  if (reach != x.numel()) y.strides.clear();
  mean.dtype = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  mean.shape = {channels};
  return {y, mean, mean};
}

/// Gradients that reach mean and rstd (second order) come on top: d mean / dx = 1/n, d rstd / dx = -rstd^3 (x - mean) / n.
static void gradient(GradCtx& g) {
  static const Op grad{"_batch_norm_grad"};
  const Tensor& x = g.in(0);
  Dims by_channel(static_cast<size_t>(x.ndim()), 1);
  by_channel[1] = -1;
  Tensor dx;
  if (g.has_dy(0)) {
    Tensors all = grad.all({g.dy(0), x, g.out(1), g.out(2), g.in(1)});
    dx = all[0];
    g.dx(1, all[1]);
    g.dx(2, all[2]);
  }
  const double n = static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(x.shape()[1], 1));
  auto collect = [&](const Tensor& t) { dx = dx.defined() ? dx + t : expand(t, x.shape()); };
  if (g.has_dy(1)) collect(reshape(g.dy(1), by_channel) / Scalar(n));
  if (g.has_dy(2)) {
    Tensor r = reshape(g.out(2), by_channel);
    collect((x - reshape(g.out(1), by_channel)) * (reshape(g.dy(2), by_channel) * r * r * r) * Scalar(-1 / n));
  }
  g.dx(0, dx);
}

/// The batch's mean and rstd from those of the ranks' rows (Chan et al., 1979).
static std::pair<Tensor, Tensor> joined(const Tensor& all, std::span<const int64_t> counts, int64_t channels,
                                        double eps) {
  Tensor mean, square_mean;
  int64_t total = 0;
  for (int64_t n : counts) total += n;
  auto weighted = [&](auto value) {
    Tensor sum;
    for (size_t r = 0; r < counts.size(); ++r) {
      const Tensor row = reshape(narrow(all, 0, static_cast<int64_t>(r), 1), {-1});
      Tensor part = value(narrow(row, 0, 0, channels), narrow(row, 0, channels, channels)) *
                    Scalar(static_cast<double>(counts[r]) / static_cast<double>(total));
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  };
  mean = weighted([](const Tensor& m, const Tensor&) { return m; });
  Tensor variance = weighted([&](const Tensor& m, const Tensor& v) { return v + square(m - mean); });
  return {mean, rsqrt(variance + Scalar(eps))};
}

static Tensors of_rows(std::span<const Tensor> in, const Attrs& attrs) {
  static const Op fused{"_batch_norm"};
  Tensors out = fused.all(in, {attrs[0]});
  out.push_back(cat(Tensors{out[1], reciprocal(square(out[2])) - Scalar(attrs[0].f64())}, 0));
  return out;
}

/// y of the rows alone, moved and stretched to the statistics of the batch.
static Tensors of_batch(std::span<const Tensor> in, std::span<const Tensor> own, const Tensor& all,
                        std::span<const int64_t> counts, int64_t, const Attrs& attrs) {
  static const Op addcmul{"addcmul"};
  const Tensor &y = own[0], &own_mean = own[1], &own_rstd = own[2];
  Dims by_channel(static_cast<size_t>(y.ndim()), 1);
  by_channel[1] = -1;
  auto [mean, rstd] = joined(all, counts, own_mean.numel(), attrs[0].f64());
  Tensor ratio = rstd / own_rstd, shift = (own_mean - mean) * rstd;
  if (in[1].defined()) shift = shift * in[1];
  if (in[2].defined()) shift = shift + in[2] * (Scalar(1.0) - ratio);
  Tensor moved = addcmul({reshape(shift, by_channel), to(y, mean.dtype()), reshape(ratio, by_channel)});
  return {to(moved, y.dtype()), mean, rstd};
}

static const RegisterSplitForm rows{"_batch_norm", RowsForm{0, &of_rows, &of_batch}};

static const RegisterOp op = OpDef("_batch_norm")
                                 .doc(
                                     "Returns (x - mean) rstd weight + bias per channel (axis 1), mean and rstd = 1 / "
                                     "sqrt(var + eps) being those of the batch; "
                                     "also mean and rstd.")
                                 .in("input", "[N, C, ...]", floating)
                                 .in_optional("weight", "[C], of the dtype of the statistics", floating)
                                 .in_optional("bias", "[C], of the dtype of the statistics", floating)
                                 .attr("eps", 1e-5, "added to the variance")
                                 .out("y")
                                 .out("mean")
                                 .out("rstd")
                                 .infer(infer)
                                 .internal()
                                 .flops(cost::per_input<8>)
                                 .sbp([](SbpCtx& c) {
                                   auto given = [&](size_t i) { return c.in()[i].given() ? split(0) : broadcast(); };
                                   c.add({split(1), given(1), given(2)}, {split(1), split(0), split(0)});
                                 })
                                 .grad("input weight mean rstd", gradient)
                                 .onnx("BatchNormalization");

}  // namespace hw
