// Conversion of strided rows between any two dtypes: how the loop drivers load and store.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace hw {

/// dst[k * dst_stride] = src[k * src_stride] for k in [0, n), converted; strides in elements, 0 allowed in src.
using ConvertFn = void (*)(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t n);

ConvertFn find_convert(DType from, DType to);

/// Fast conversions of contiguous rows for the instruction set in use, or null: f32 <-> bf16, f16 and the like.
using ConvertRowFn = void (*)(const void* src, void* dst, int64_t n);
ConvertRowFn find_convert_row(DType from, DType to);

/// The same between bf16 and f32 with the f32 elements in another order, which depends on n alone and is the same both ways: faster,
/// for loops to which the order of elements does not matter. To bf16, a NaN must have a bit set in its upper half, as those have
/// that are computed from bf16. Null for other dtypes.
ConvertRowFn find_convert_shuffled(DType from, DType to);

}  // namespace hw
