// The `reduction` argument of losses.
#include "ops/loss/reduction.h"

#include "base/error.h"

namespace hw {

void check_reduction(const std::string& reduction) {
  check(reduction == "mean" || reduction == "sum" || reduction == "none",
        "reduction must be 'mean', 'sum' or 'none', got '", reduction, "'");
}

Tensor reduced_loss(const Tensor& loss, const std::string& reduction) {
  check_reduction(reduction);
  if (reduction == "none") return loss;
  return reduction == "mean" ? mean(loss) : sum(loss);
}

}  // namespace hw
