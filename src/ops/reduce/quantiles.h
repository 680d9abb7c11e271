// What quantile and nanquantile share.
#pragma once

#include "op/call.h"

namespace hw {

/// Inputs input and q; attributes dim, keepdim and interpolation. `skip_nan`: NaN counts as not there, instead of as the result.
Tensor quantiles(std::span<const Tensor> in, const Attrs& attrs, bool skip_nan);

}  // namespace hw
