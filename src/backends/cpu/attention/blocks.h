// Pieces of attention that forward and backward share: blocks of operands in the wide type, products, masks.
#pragma once

#include <algorithm>
#include <limits>

#include "backends/cpu/attention/rows.h"
#include "backends/cpu/gemm/gemm.h"
#include "core/half.h"
#include "kernels/attention/request.h"

namespace hw::attention {

constexpr int64_t kRows = 64, kColumns = 256;

/// Rows of an operand in the type that is computed in: where they lie, or a copy.
template <class T>
struct Block {
  const T* data;
  int64_t row;  // stride; elements of a row are contiguous
};

template <class In, class T>
Block<T> load(const void* base, const TensorSpec& spec, int64_t b, int64_t h, int64_t first, int64_t rows, T* copy) {
  const In* from = static_cast<const In*>(base) + b * spec.strides[0] + h * spec.strides[1] + first * spec.strides[2];
  int64_t width = spec.shape[3], row = spec.strides[2], column = spec.strides[3];
  if constexpr (std::is_same_v<In, T>)
    if (column == 1) return {from, row};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t e = 0; e < width; ++e) copy[i * width + e] = static_cast<T>(from[i * row + e * column]);
  return {copy, width};
}

/// c [m, n] (+)= alpha * a [m, k] b [k, n], any strides of a and b.
template <class T>
struct Product {
  GemmRoutines gemm;
  void* scratch;
  void operator()(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row,
                  int64_t b_col, T* c, int64_t c_row, T alpha, bool accumulate) const {
    if (m == 0 || n == 0) return;
    GemmBlock block;
    block.m = m, block.n = n, block.k = k;
    block.a = a, block.a_row = a_row, block.a_col = a_col;
    block.b = b, block.b_row = b_row, block.b_col = b_col;
    block.c = c, block.c_row = c_row;
    block.input = nullptr, block.input_row = block.input_col = 0;
    block.alpha = static_cast<double>(alpha);
    block.scratch = scratch;
    block.accumulate = accumulate;
    gemm.block(block);
  }
};

template <class T>
inline size_t product_scratch(const GemmRoutines& gemm, const AttentionRequest& r) {
  int64_t n = std::max({kColumns, r.width, r.value_width});
  return gemm.scratch(kColumns, n, n) + 64;
}

/// Adds the mask to scores [rows, columns] (stride kColumns) and hides what a causal row does not see.
template <class T>
void apply_mask(const AttentionRequest& r, const void* mask, int64_t b, int64_t h, int64_t i0, int64_t rows, int64_t j0,
                int64_t columns, T* s) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < rows; ++i) {
    T* row = s + i * kColumns;
    if (mask) {
      int64_t at =
          b * r.mask.strides[0] + h * r.mask.strides[1] + (i0 + i) * r.mask.strides[2] + j0 * r.mask.strides[3];
      int64_t step = r.mask.strides[3];
      auto add = [&]<class M>(const M* m) {
        for (int64_t j = 0; j < columns; ++j) row[j] += static_cast<T>(m[at + j * step]);
      };
      switch (r.mask.dtype) {
        case DType::Bool:
          for (int64_t j = 0; j < columns; ++j)
            if (!static_cast<const bool*>(mask)[at + j * step]) row[j] = kHidden;
          break;
        case DType::F16: add(static_cast<const Half*>(mask)); break;
        case DType::BF16: add(static_cast<const BFloat16*>(mask)); break;
        case DType::F32: add(static_cast<const float*>(mask)); break;
        default: add(static_cast<const double*>(mask)); break;
      }
    }
    if (r.causal) std::fill(row + std::clamp<int64_t>(i0 + i + 1 - j0, 0, columns), row + columns, kHidden);
  }
}

/// The wide type of an element type.
template <class In>
using Wide = std::conditional_t<std::is_same_v<In, double>, double, float>;

template <class In, class T>
In narrow(T value) {
  if constexpr (std::is_same_v<In, T>)
    return value;
  else
    return In(static_cast<float>(value));
}

inline size_t round64(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace hw::attention
