// Plain walks over strided operands, for reference kernels.
#pragma once

#include <array>
#include <span>
#include <tuple>

#include "core/shape.h"
#include "core/spec.h"

namespace hw {

/// Strides that are set, whatever the spec says.
inline Dims strides_of(const TensorSpec& s) {
  return s.strides.size() == s.shape.size() ? s.strides : contiguous_strides(s.shape);
}

/// Calls f(offset of operand 0, offset of operand 1, ...) for every index of `shape` in row-major order, from index `begin`
/// to before `end` (-1: all). Offsets are in elements.
template <size_t N, class F>
void each(std::span<const int64_t> shape, const std::array<Dims, N>& strides, F&& f, int64_t begin = 0,
          int64_t end = -1) {
  if (end < 0) end = numel(shape);
  int64_t index[kMaxDims];
  std::array<int64_t, N> at{};
  int64_t rest = begin;
  for (size_t a = shape.size(); a-- > 0;) {
    index[a] = shape[a] ? rest % shape[a] : 0;
    if (shape[a]) rest /= shape[a];
    for (size_t o = 0; o < N; ++o) at[o] += index[a] * strides[o][a];
  }
  for (int64_t k = begin; k < end; ++k) {
    std::apply([&](auto... offset) { f(offset...); }, at);
    for (size_t a = shape.size(); a-- > 0;) {
      for (size_t o = 0; o < N; ++o) at[o] += strides[o][a];
      if (++index[a] < shape[a]) break;
      for (size_t o = 0; o < N; ++o) at[o] -= strides[o][a] * shape[a];
      index[a] = 0;
    }
  }
}

}  // namespace hw
