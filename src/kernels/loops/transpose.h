// Transposes of matrices in memory, by tiles that stay in the first-level cache.
#pragma once

#include <cstdint>

namespace hw {

/// dst[r * dst_stride + c] = src[c * src_stride + r] for r < rows, c < columns; strides in elements.
using TransposeFn = void (*)(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t columns,
                             int64_t rows);

/// For elements of `bytes` (1, 2, 4, 8 or 16), for the instruction set in use.
TransposeFn find_transpose(int64_t bytes);

}  // namespace hw
