// Rules of normalisation ops that keep statistics in f32.
#pragma once

#include "core/dtype.h"

namespace hw {

/// The dtype of statistics and of what is summed over rows: f32, or f64 for f64.
inline DType statistics_dtype(DType d) { return d == DType::F64 ? DType::F64 : DType::F32; }

}  // namespace hw
