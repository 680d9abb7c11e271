// batch_norm: normalisation per channel by the batch's statistics (training) or by running ones.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// running = (1 - momentum) running + momentum value, in place and outside the graph.
static void update(const Tensor& running, const Tensor& value, double momentum) {
  static const Op add_op{"add"}, mul_op{"mul"};
  mul_op.inplace({running, number(1 - momentum)});
  add_op.inplace({running, value}, {Scalar(momentum)});
}

static Tensor by_channel(const Tensor& t, int64_t ndim) {
  Dims shape(static_cast<size_t>(ndim), 1);
  shape[1] = -1;
  return reshape(t, shape);
}

static Tensor train(std::span<const Tensor> in, double momentum, double eps) {
  static const Op fused{"_batch_norm"};
  const Tensor& x = in[0];
  const DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  auto widened = [&](const Tensor& t) { return t.defined() ? to(t, wide) : t; };
  Tensors out = fused.all({x, widened(in[3]), widened(in[4])}, {eps});
  if (in[1].defined()) update(in[1], to(out[1].alias(), in[1].dtype()), momentum);
  if (in[2].defined()) {
    const double n = static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(x.shape()[1], 1));
    Tensor rstd = out[2].alias();
    Tensor variance = (reciprocal(square(rstd)) - Scalar(eps)) * Scalar(n / (n - 1));
    update(in[2], to(variance, in[2].dtype()), momentum);
  }
  return out[0];
}

static Tensor evaluate(std::span<const Tensor> in, double eps) {
  static const Op addcmul{"addcmul"};
  const Tensor& x = in[0];
  check_runtime(in[1].defined() && in[2].defined(), "running_mean and running_var are needed when training is False");
  const DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  Tensor scale = rsqrt(to(in[2], wide) + Scalar(eps));
  if (in[3].defined()) scale = scale * to(in[3], wide);
  Tensor shift = -(to(in[1], wide) * scale);
  if (in[4].defined()) shift = shift + to(in[4], wide);
  Tensor y = addcmul({by_channel(shift, x.ndim()), x, by_channel(scale, x.ndim())});
  return to(y, x.dtype());
}

static const RegisterOp op =
    OpDef("batch_norm")
        .doc(
            "Returns (x - mean) / sqrt(var + eps) weight + bias per channel (axis 1). In training, mean and var are "
            "the batch's, and "
            "running_mean and running_var move towards them by momentum (var without bias) (Ioffe and Szegedy, 2015).")
        .in("input", "[N, C, ...]", floating)
        .in_optional("running_mean", "[C], changed in place in training", floating)
        .in_optional("running_var", "[C], changed in place in training", floating)
        .in_optional("weight", "[C]", floating)
        .in_optional("bias", "[C]", floating)
        .attr("training", false, "use and record the batch's statistics")
        .attr("momentum", 0.1, "the share of the batch in the running statistics")
        .attr("eps", 1e-5, "added to the variance")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Tensor& x = in[0];
          check(x.ndim() >= 2, "input must be [N, C, ...], got ", x);
          for (size_t i = 1; i < 5; ++i)
            check_runtime(!in[i].defined() || in[i].shape() == Dims{x.shape()[1]},
                          "running statistics, weight and bias must have shape [", x.shape()[1], "], got ", in[i]);
          if (attrs[0].truth()) return {train(in, attrs[1].f64(), attrs[2].f64())};
          return {evaluate(in, attrs[2].f64())};
        });

}  // namespace hw
