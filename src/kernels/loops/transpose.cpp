// Tiled transposes; see the header. Blocks of registers for elements of 4 and 8 bytes, plain loops for the others.
#include "kernels/loops/transpose.h"

#include <algorithm>

#include "core/visit.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/loops/transpose.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// rows x columns of the output, both small.
template <class T>
HWY_INLINE void plain(const T* s, int64_t src_stride, T* d, int64_t dst_stride, int64_t columns, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) d[r * dst_stride + c] = s[c * src_stride + r];
}

/// What is left beside whole blocks.
template <class T>
struct Edge {
  static HWY_INLINE void run(const T* s, int64_t src_stride, T* d, int64_t dst_stride, int64_t columns, int64_t rows) {
    plain(s, src_stride, d, dst_stride, columns, rows);
  }
};

template <class T>
struct Block {
  static constexpr int64_t kSize = 16;
  static HWY_INLINE void run(const T* s, int64_t src_stride, T* d, int64_t dst_stride) {
    plain(s, src_stride, d, dst_stride, kSize, kSize);
  }
};

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
/// Writes the rows of a transposed block, each a whole cache line: rows of a matrix whose width is a power of two fall on the
/// same few sets of the cache, where lines written in parts would be evicted in between.
template <class T>
HWY_INLINE void write_lines(const T* tile, T* d, int64_t dst_stride) {
  const hn::CappedTag<T, 64 / sizeof(T)> tag;
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t r = 0; r < kLine; ++r)
    for (int64_t c = 0; c < kLine; c += static_cast<int64_t>(hn::Lanes(tag)))
      hn::StoreU(hn::Load(tag, tile + r * kLine + c), tag, d + r * dst_stride + c);
}

/// 4 x 4 by interleaving 128-bit vectors.
HWY_INLINE void transpose_small(const uint32_t* s, int64_t src_stride, uint32_t* d, int64_t dst_stride) {
  const hn::Full128<uint32_t> d32;
  const hn::Full128<uint64_t> d64;
  const auto a = hn::LoadU(d32, s), b = hn::LoadU(d32, s + src_stride);
  const auto c = hn::LoadU(d32, s + 2 * src_stride), e = hn::LoadU(d32, s + 3 * src_stride);
  const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d32, a, b));
  const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d32, a, b));
  const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d32, c, e));
  const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d32, c, e));
  hn::StoreU(hn::BitCast(d32, hn::InterleaveLower(d64, ab_low, ce_low)), d32, d);
  hn::StoreU(hn::BitCast(d32, hn::InterleaveUpper(d64, ab_low, ce_low)), d32, d + dst_stride);
  hn::StoreU(hn::BitCast(d32, hn::InterleaveLower(d64, ab_high, ce_high)), d32, d + 2 * dst_stride);
  hn::StoreU(hn::BitCast(d32, hn::InterleaveUpper(d64, ab_high, ce_high)), d32, d + 3 * dst_stride);
}
/// 2 x 2.
HWY_INLINE void transpose_small(const uint64_t* s, int64_t src_stride, uint64_t* d, int64_t dst_stride) {
  const hn::Full128<uint64_t> d64;
  const auto a = hn::LoadU(d64, s), b = hn::LoadU(d64, s + src_stride);
  hn::StoreU(hn::InterleaveLower(d64, a, b), d64, d);
  hn::StoreU(hn::InterleaveUpper(d64, a, b), d64, d + dst_stride);
}

template <class T>
requires(sizeof(T) == 4 || sizeof(T) == 8) struct Block<T> {
  static constexpr int64_t kSize = 64 / sizeof(T), kStep = 16 / sizeof(T);
  static HWY_INLINE void run(const T* s, int64_t src_stride, T* d, int64_t dst_stride) {
    alignas(64) T tile[kSize * kSize];
    for (int64_t c = 0; c < kSize; c += kStep)
      for (int64_t r = 0; r < kSize; r += kStep)
        transpose_small(s + c * src_stride + r, src_stride, tile + r * kSize + c, kSize);
    write_lines(tile, d, dst_stride);
  }
};

/// Few columns (channels of a block of weights, heads) under many rows: small blocks straight to where they belong.
template <class T>
requires(sizeof(T) == 4 || sizeof(T) == 8) struct Edge<T> {
  static constexpr int64_t kStep = 16 / sizeof(T);
  static HWY_INLINE void run(const T* s, int64_t src_stride, T* d, int64_t dst_stride, int64_t columns, int64_t rows) {
    const int64_t c = columns / kStep * kStep, r = rows / kStep * kStep;
    for (int64_t j = 0; j < r; j += kStep)
      for (int64_t i = 0; i < c; i += kStep)
        transpose_small(s + i * src_stride + j, src_stride, d + j * dst_stride + i, dst_stride);
    plain(s + c * src_stride, src_stride, d + c, dst_stride, columns - c, r);
    plain(s + r, src_stride, d + r * dst_stride, dst_stride, columns, rows - r);
  }
};
#endif

template <class T>
static void transpose(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t columns,
                      int64_t rows) {
  constexpr int64_t kSize = Block<T>::kSize;
  const T* s = static_cast<const T*>(src);
  T* d = static_cast<T*>(dst);
  int64_t c = 0;
  for (; c + kSize <= columns; c += kSize) {
    int64_t r = 0;
    for (; r + kSize <= rows; r += kSize)
      Block<T>::run(s + c * src_stride + r, src_stride, d + r * dst_stride + c, dst_stride);
    Edge<T>::run(s + c * src_stride + r, src_stride, d + r * dst_stride + c, dst_stride, kSize, rows - r);
  }
  Edge<T>::run(s + c * src_stride, src_stride, d + c, dst_stride, columns - c, rows);
}

TransposeFn transpose_of(int64_t bytes) {
  switch (bytes) {
    case 1: return &transpose<uint8_t>;
    case 2: return &transpose<uint16_t>;
    case 4: return &transpose<uint32_t>;
    case 8: return &transpose<uint64_t>;
    default: return &transpose<std::complex<double>>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(transpose_of);
TransposeFn find_transpose(int64_t bytes) { return HWY_DYNAMIC_DISPATCH(transpose_of)(bytes); }
}  // namespace hw
#endif
