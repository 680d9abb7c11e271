// The shape after padding.
#pragma once

#include <string_view>

#include "core/shape.h"

namespace hw {

/// `pad`: two numbers for each axis, before and after, the last axis first. `mode`: empty for constants. Throws
/// Error{Runtime} for numbers that the mode does not allow.
Dims padded_shape(const Dims& shape, const Dims& pad, std::string_view mode);

}  // namespace hw
