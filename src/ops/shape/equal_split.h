// What hsplit, vsplit and dsplit share.
#pragma once

#include "op/call.h"

namespace hw {

/// tensor_split along a given axis, with `sections` that must divide its size. Attributes: sections, indices.
Tensors equal_split(const Tensor& x, const Attrs& attrs, int64_t least_axes, int64_t axis);

}  // namespace hw
