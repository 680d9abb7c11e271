// Several rows of a strided operand, one after the other, for loops that would rather not run on three elements.
#pragma once

#include <cstdint>

namespace hw {

/// dst[r * length + k] = src[r * row_stride + k * stride] for r < rows, k < length. May write up to 15 elements past the end.
using GatherFn = void (*)(const void* src, int64_t stride, void* dst, int64_t length, int64_t rows, int64_t row_stride);

/// For elements of `bytes`, for the instruction set in use.
GatherFn find_gather(int64_t bytes);

}  // namespace hw
