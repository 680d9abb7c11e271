// mse_loss: squared difference.
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op = OpDef("mse_loss")
                                 .doc("Returns (input - target)^2, reduced.")
                                 .in("input", "any shape", floating)
                                 .in("target", "a shape that broadcasts with input", floating)
                                 .attr("reduction", "mean", "'mean', 'sum' or 'none'")
                                 .out("loss")
                                 .method(false)
                                 .autocast(Autocast::F32)
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   const Tensor &x = in[0], &t = in[1];
                                   return {reduced_loss(square(x - t), attrs[0].text())};
                                 });

}  // namespace hw
