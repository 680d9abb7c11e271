// instance_norm: normalisation of each channel of each sample.
#include "base/error.h"
#include "op/math.h"

namespace hw {

/// One sample is a batch of its own: [N, C, S] seen as [1, N C, S].
static Tensor repeated(const Tensor& t, int64_t n) {
  static const Op repeat{"repeat"};
  return t.defined() ? repeat({t}, {Dims{n}}) : t;
}

static const RegisterOp op =
    OpDef("instance_norm")
        .doc(
            "Returns (x - mean) / sqrt(var + eps) weight + bias, mean and var being those of each channel of each "
            "sample, or the "
            "running ones when use_input_stats is False (Ulyanov et al., 2016).")
        .in("input", "[N, C, ...] with at least one axis after C", floating)
        .in_optional("running_mean", "[C]", floating)
        .in_optional("running_var", "[C]", floating)
        .in_optional("weight", "[C]", floating)
        .in_optional("bias", "[C]", floating)
        .attr("use_input_stats", true, "use each sample's statistics")
        .attr("momentum", 0.1, "the share of the batch in the running statistics")
        .attr("eps", 1e-5, "added to the variance")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op batch_norm{"batch_norm"}, copy{"copy_"};
          const Tensor& x = in[0];
          check(x.ndim() >= 3, "input must be [N, C, ...] with at least one axis after C, got ", x);
          const double momentum = attrs[1].f64(), eps = attrs[2].f64();
          if (!attrs[0].truth()) return {batch_norm({x, in[1], in[2], in[3], in[4]}, {false, momentum, eps})};
          const int64_t n = x.shape()[0], c = x.shape()[1];
          check(x.numel() > n * c || x.numel() == 0,
                "expected more than one spatial element in training, got input of shape ", x.shape());
          Dims flat = x.shape();
          flat[0] = 1;
          flat[1] = n * c;
          Tensor mean_now = repeated(in[1], n), var_now = repeated(in[2], n);
          Tensor y = batch_norm({reshape(x, flat), mean_now, var_now, repeated(in[3], n), repeated(in[4], n)},
                                {true, momentum, eps});
          if (in[1].defined()) copy.inplace({in[1], mean(reshape(mean_now, {n, c}), {0})});
          if (in[2].defined()) copy.inplace({in[2], mean(reshape(var_now, {n, c}), {0})});
          return {reshape(y, x.shape())};
        });

}  // namespace hw
