// Sizes, strides and axis arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/small_vector.h"

namespace hw {

/// Sizes, strides (in elements) or axes of a tensor.
using Dims = SmallVec<int64_t, 6>;
constexpr int64_t kMaxDims = 32;

int64_t numel(std::span<const int64_t> shape);  // throws Error{Value} when the product overflows
Dims contiguous_strides(std::span<const int64_t> shape);
bool is_contiguous(std::span<const int64_t> shape, std::span<const int64_t> strides);
/// Whether different indices always reach different elements, as far as sizes and strides can show.
bool is_non_overlapping(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// The broadcast shape; throws Error{Value} naming both sizes and the axis.
Dims broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);
/// Strides of a view of `shape` broadcast to `to` (0 where a size is stretched). Assumes it is possible.
Dims broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> strides, std::span<const int64_t> to);

/// -1 counts from the end; throws Error{Index} outside [-ndim, ndim). A 0-d tensor accepts -1 and 0.
int64_t normalize_axis(int64_t axis, int64_t ndim);
/// All axes when `axes` is empty; sorted and unique; throws on repeats.
Dims normalize_axes(std::span<const int64_t> axes, int64_t ndim);
/// Shape after reducing `axes` (normalised).
Dims reduced_shape(std::span<const int64_t> shape, std::span<const int64_t> axes, bool keepdim);

void append_text(std::string& out, const Dims& dims);  // "[2, 3]"

}  // namespace hw
