// binary_cross_entropy_with_logits: scores against targets in [0, 1].
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op =
    OpDef("binary_cross_entropy_with_logits")
        .doc(
            "Returns the binary cross-entropy of sigmoid(input), computed without overflow as (1 - t) x + (1 + (p - 1) "
            "t) softplus(-x), p being pos_weight, reduced.")
        .in("input", "any shape", floating)
        .in("target", "a shape that broadcasts with input", floating)
        .in_optional("weight", "a factor that broadcasts with input", floating)
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .in_optional("pos_weight", "a factor for positive targets that broadcasts with input", floating)
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Tensor &x = in[0], &t = in[1];
          static const Op logsigmoid{"logsigmoid"};
          check_runtime(x.shape() == t.shape(), "target ", t.shape(), " must have the shape of input, ", x.shape());
          Tensor log_p = logsigmoid({x});
          Tensor loss = in[3].defined() ? (Scalar(1) - t) * x - ((in[3] - Scalar(1)) * t + Scalar(1)) * log_p
                                        : (Scalar(1) - t) * x - log_p;
          if (in[2].defined()) loss = loss * in[2];
          return {reduced_loss(loss, attrs[0].text())};
        });

}  // namespace hw
