// Which numbers a dtype can hold.
#pragma once

#include "core/scalar.h"

namespace hw {

/// Whether `value` can be stored without wrapping around and without losing an imaginary part; rounding is allowed. As in torch,
/// negative numbers count as unsigned ones of the same bits, and infinities and NaN fit floating dtypes.
bool fits(const Scalar& value, DType dtype);

}  // namespace hw
