// What trapezoid and cumulative_trapezoid share: the areas between neighbours.
#pragma once

#include "op/op_def.h"

namespace hw {

/// in: y and optionally x; attrs: dx, dim. The area of each trapezoid along the axis, one fewer than y has elements there.
Tensor trapezoids(std::span<const Tensor> in, const Attrs& attrs);

}  // namespace hw
