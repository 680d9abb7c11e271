// Whether a tensor can be seen under another shape without copying, and with which strides.
#pragma once

#include "core/shape.h"

namespace hw {

/// `shape` with a -1 worked out; throws when the numbers of elements differ.
Dims resolved_shape(std::span<const int64_t> from, std::span<const int64_t> shape);
/// False when a copy is needed.
bool view_strides(std::span<const int64_t> from, std::span<const int64_t> strides, std::span<const int64_t> to,
                  Dims& out);

}  // namespace hw
