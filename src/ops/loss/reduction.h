// The `reduction` argument of losses.
#pragma once

#include "op/math.h"

namespace hw {

/// 'mean', 'sum' or 'none' of a loss; throws for other words.
Tensor reduced_loss(const Tensor& loss, const std::string& reduction);
void check_reduction(const std::string& reduction);

}  // namespace hw
