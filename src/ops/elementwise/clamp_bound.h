// The bounds of clamp, clamp_min and clamp_max.
#pragma once

#include "core/tensor.h"

namespace hw {

/// A Python integer as a bound for tensors of an integer dtype. One beyond the dtype's range does not bind and becomes the end of
/// the range; one that no value of the dtype can satisfy throws. Other bounds are returned as they are.
/// An input that is a number itself must fit the dtype of a bound with axes.
Tensor bound_in_range(const Tensor& input, const Tensor& bound, bool lower);

}  // namespace hw
