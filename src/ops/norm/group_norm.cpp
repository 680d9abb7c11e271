// group_norm: normalisation of groups of channels of each sample.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("group_norm")
        .doc(
            "Returns (x - mean) / sqrt(var + eps) weight + bias, mean and var being those of each of num_groups groups "
            "of channels of "
            "each sample (Wu and He, 2018).")
        .in("input", "[N, C, ...]", floating)
        .attr_required("num_groups", AttrValue::Kind::Int, "groups; divides C")
        .in_optional("weight", "[C]", floating)
        .in_optional("bias", "[C]", floating)
        .attr("eps", 1e-5, "added to the variance")
        .out("y")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op layer_norm{"layer_norm"}, addcmul{"addcmul"};
          const Tensor& x = in[0];
          const int64_t groups = attrs[0].i64();
          check_runtime(x.ndim() >= 2, "input must be [N, C, ...], got ", x);
          const int64_t n = x.shape()[0], channels = x.shape()[1];
          check_runtime(groups > 0 && channels % groups == 0, channels, " channels cannot be divided into ", groups,
                        " groups");
          for (size_t i = 1; i < 3; ++i)
            check_runtime(!in[i].defined() || in[i].shape() == Dims{channels}, "weight and bias must have shape [",
                          channels, "], got ", in[i]);
          if (x.numel() == 0) return {clone(x)};
          const int64_t size = x.numel() / (n * groups);
          Tensor y = layer_norm({reshape(x, {n, groups, size}), Tensor(), Tensor()}, {Dims{size}, attrs[1].f64()});
          y = reshape(y, x.shape());
          Dims by_channel(static_cast<size_t>(x.ndim()), 1);
          by_channel[1] = -1;
          if (in[1].defined() && in[2].defined())
            return {addcmul({reshape(in[2], by_channel), y, reshape(in[1], by_channel)})};
          if (in[1].defined()) y = y * reshape(in[1], by_channel);
          if (in[2].defined()) y = y + reshape(in[2], by_channel);
          return {y};
        });

}  // namespace hw
