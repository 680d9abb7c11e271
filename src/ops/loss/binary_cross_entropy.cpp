// binary_cross_entropy: probabilities against targets in [0, 1].
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op =
    OpDef("binary_cross_entropy")
        .doc("Returns -(t log(x) + (1 - t) log(1 - x)) for probabilities x, logarithms bounded below by -100, reduced.")
        .in("input", "any shape", floating)
        .in("target", "a shape that broadcasts with input", floating)
        .in_optional("weight", "a factor that broadcasts with input", floating)
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Tensor &x = in[0], &t = in[1];
          static const Op each{"_binary_cross_entropy"};
          check_runtime(x.shape() == t.shape(), "target ", t.shape(), " must have the shape of input, ", x.shape());
          Tensor loss = each({x, t});
          if (in[2].defined()) loss = loss * in[2];
          return {reduced_loss(loss, attrs[0].text())};
        });

}  // namespace hw
