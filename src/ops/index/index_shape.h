// The shape that advanced indexing gives.
#pragma once

#include "op/op_def.h"

namespace hw {

/// `indices`: one per leading axis of x, not given where the axis is not indexed. Indexed axes that are adjacent are
/// replaced where they stand, others go to the front. Throws Error{Index} when shapes do not fit.
Dims indexed_shape(const TensorSpec& x, std::span<const TensorSpec> indices);

}  // namespace hw
