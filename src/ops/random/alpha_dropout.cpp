// alpha_dropout: dropout that keeps mean and variance of SELU activations.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("alpha_dropout")
        .doc(
            "Returns the input with elements set to the negative saturation value of SELU with probability p, scaled "
            "and shifted so that mean and variance stay (Klambauer et al., 2017).")
        .in("input", "any shape", floating)
        .attr("p", 0.5, "the probability of being dropped")
        .attr("training", false, "whether anything is done")
        .method(false)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const double p = attrs[0].f64();
          check(p >= 0 && p <= 1, "p must be in [0, 1], got ", p);
          if (!attrs[1].truth() || p == 0) return {in[0]};
          static const Op draw{"rand"};
          constexpr double kLow = -1.7580993408473766;  // -scale * alpha of SELU
          if (p == 1) return {mul(in[0], number(Scalar(0.0)))};
          const double scale = 1 / std::sqrt((1 - p) * (1 + p * kLow * kLow));
          Tensor kept = ge(draw({}, {in[0].shape(), DType::F32}), number(Scalar(p)));
          Tensor y = where(kept, in[0], full({}, Scalar(kLow), in[0].dtype()));
          return {y * Scalar(scale) + Scalar(-scale * p * kLow)};
        });

}  // namespace hw
