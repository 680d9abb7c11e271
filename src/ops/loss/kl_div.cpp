// kl_div: the Kullback-Leibler divergence.
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op = OpDef("kl_div")
                                 .doc(
                                     "Returns target (log(target) - input) for log-probabilities input, reduced; "
                                     "'batchmean' divides the sum by the first size.")
                                 .in("input", "any shape", floating)
                                 .in("target", "a shape that broadcasts with input", floating)
                                 .attr("reduction", "mean", "'mean', 'batchmean', 'sum' or 'none'")
                                 .attr("log_target", false, "target holds log-probabilities")
                                 .out("loss")
                                 .method(false)
                                 .autocast(Autocast::F32)
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   const Tensor &x = in[0], &t = in[1];
                                   static const Op xlogy{"xlogy"};
                                   Tensor loss = attrs[1].truth() ? exp(t) * (t - x) : xlogy({t, t}) - t * x;
                                   if (attrs[0].text() != "batchmean") return {reduced_loss(loss, attrs[0].text())};
                                   check_runtime(x.ndim() > 0, "'batchmean' needs a first axis");
                                   return {sum(loss) / Scalar(x.shape()[0])};
                                 });

}  // namespace hw
