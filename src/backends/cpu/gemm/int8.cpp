// Products of bytes by a packed int8 weight, for each instruction set. Pairs of products of 16-bit numbers are summed in 32 bits, which
// is exact: products of bytes in 16 bits (vpmaddubsw) would saturate.
#include "kernels/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/int8.cpp"
#include "backends/cpu/gemm/targets.h"
// After targets.h.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/gemm/int8.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 12, kVectors = 2;
#elif HWY_TARGET == HWY_AVX2
constexpr int kRows = 6, kVectors = 2;  // sums, two rows of the weight, two of x and of products: 16 registers
#elif HWY_TARGET == HWY_NEON
constexpr int kRows = 3, kVectors = 4;  // even and odd sums apart
#else
constexpr int kRows = 4, kVectors = 2;
#endif

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
constexpr int64_t kLanes = 8;

/// sums[M][strip] of pairs.
template <int M>
void sum_up(int64_t pairs, const int16_t* x, const int8_t* w, int32_t* sums) {
  std::fill_n(sums, M * kVectors * kLanes, 0);
  for (int64_t p = 0; p < pairs; ++p, x += kRows * 2, w += kVectors * kLanes * 2)
    for (int i = 0; i < M; ++i)
      for (int64_t j = 0; j < kVectors * kLanes; ++j)
        sums[i * kVectors * kLanes + j] += x[2 * i] * w[2 * j] + x[2 * i + 1] * w[2 * j + 1];
}

void finish_row(const Int8Block& b, const int32_t* sums, int64_t j, int64_t columns, float* out) {
  for (int64_t c = 0; c < columns; ++c) {
    float v = static_cast<float>(sums[c]) * b.finish.scale[j + c];
    if (b.finish.offset) v = v + b.finish.offset[j + c];
    out[c] = b.relu ? std::max(v, 0.0f) : v;
  }
}

void quantise(const Int8Finish& f, const float* v, int64_t count, int32_t* out) {
  for (int64_t c = 0; c < count; ++c)
    out[c] = static_cast<int32_t>(std::min(f.high, std::max(f.low, std::nearbyint(v[c] / f.out_scale) + f.zero)));
}
#else
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
using Wide = hn::ScalableTag<int32_t>;
using Half16 = hn::ScalableTag<int16_t>;
using Floats = hn::ScalableTag<float>;

template <int M>
void sum_up(int64_t pairs, const int16_t* HWY_RESTRICT x, const int8_t* HWY_RESTRICT w, int32_t* HWY_RESTRICT sums) {
  const Wide wide;
  const Half16 d16;
  const hn::Rebind<int8_t, Half16> d8;
  hn::VFromD<Wide> even[M][kVectors], odd[M][kVectors];  // `odd` stays zero where pairs are summed by one instruction
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) even[i][j] = odd[i][j] = hn::Zero(wide);
  for (int64_t p = 0; p < pairs; ++p) {
    hn::VFromD<Half16> row[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) row[j] = hn::PromoteTo(d16, hn::LoadU(d8, w + j * 2 * kLanes));
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      int32_t pair;
      std::memcpy(&pair, x + 2 * i, sizeof pair);
      const auto left = hn::BitCast(d16, hn::Set(wide, pair));
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j)
        even[i][j] = hn::ReorderWidenMulAccumulate(wide, left, row[j], even[i][j], odd[i][j]);
    }
    x += kRows * 2;
    w += kVectors * kLanes * 2;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j)
      hn::StoreU(hn::RearrangeToOddPlusEven(even[i][j], odd[i][j]), wide, sums + (i * kVectors + j) * kLanes);
}

/// `sums` is a whole strip; past the last column the results are not used.
void finish_row(const Int8Block& b, const int32_t* sums, int64_t j, int64_t columns, float* out) {
  const Wide wide;
  const Floats d;
  float rest[2][kLanes] = {};
  for (int64_t c = 0; c < columns; c += kLanes) {
    const float* scale = b.finish.scale + j + c;
    const float* offset = b.finish.offset ? b.finish.offset + j + c : nullptr;
    if (c + kLanes > columns) {
      const auto bytes = static_cast<size_t>(columns - c) * sizeof(float);
      std::memcpy(rest[0], scale, bytes);
      scale = rest[0];
      if (offset) {
        std::memcpy(rest[1], offset, bytes);
        offset = rest[1];
      }
    }
    auto v = hn::Mul(hn::ConvertTo(d, hn::LoadU(wide, sums + c)), hn::LoadU(d, scale));
    if (offset) v = hn::Add(v, hn::LoadU(d, offset));
    if (b.relu) v = hn::Max(v, hn::Zero(d));
    hn::StoreU(v, d, out + c);
  }
}

void quantise(const Int8Finish& f, const float* v, int64_t count, int32_t* out) {
  const Wide wide;
  const Floats d;
  const auto scale = hn::Set(d, f.out_scale), zero = hn::Set(d, f.zero), low = hn::Set(d, f.low),
             high = hn::Set(d, f.high);
  for (int64_t c = 0; c < count; c += kLanes) {
    const auto q = hn::Add(hn::Round(hn::Div(hn::LoadU(d, v + c), scale)), zero);
    hn::StoreU(hn::ConvertTo(wide, hn::Min(high, hn::Max(low, q))), wide, out + c);
  }
}
#endif

constexpr int64_t kStrip = kVectors * kLanes;

template <class T>
void narrow(const int32_t* q, int64_t columns, T* y) {
  for (int64_t c = 0; c < columns; ++c) y[c] = static_cast<T>(q[c]);
}

template <int M>
HWY_NOINLINE void tile(const Int8Block& b, const int16_t* x, const int8_t* w, int64_t i, int64_t j, int64_t columns) {
  HWY_ALIGN int32_t sums[M * kStrip];
  HWY_ALIGN float values[kStrip];
  sum_up<M>(b.pairs, x, w, sums);
  for (int r = 0; r < M; ++r) {
    const int64_t at = (i + r) * b.y_row + j;
    int32_t* row = sums + r * kStrip;
    if (b.out == DType::F32 && columns == kStrip) {
      finish_row(b, row, j, columns, static_cast<float*>(b.y) + at);
      continue;
    }
    finish_row(b, row, j, columns, values);
    if (b.out == DType::F32) {
      std::memcpy(static_cast<float*>(b.y) + at, values, static_cast<size_t>(columns) * sizeof(float));
      continue;
    }
    quantise(b.finish, values, columns, row);
    if (b.out == DType::I8)
      narrow(row, columns, static_cast<int8_t*>(b.y) + at);
    else
      narrow(row, columns, static_cast<uint8_t*>(b.y) + at);
  }
}

using TileFn = void (*)(const Int8Block&, const int16_t*, const int8_t*, int64_t, int64_t, int64_t);

TileFn tile_for(int64_t rows) {
  switch (rows) {
    case 1: return tile<1>;
    case 2: return tile<2>;
    case 3: return tile<3>;
    case 4: return tile<4>;
    case 5: return tile<(kRows < 5 ? 1 : 5)>;
    case 6: return tile<(kRows < 6 ? 1 : 6)>;
    case 7: return tile<(kRows < 7 ? 1 : 7)>;
    case 8: return tile<(kRows < 8 ? 1 : 8)>;
    case 9: return tile<(kRows < 9 ? 1 : 9)>;
    case 10: return tile<(kRows < 10 ? 1 : 10)>;
    case 11: return tile<(kRows < 11 ? 1 : 11)>;
    default: return tile<kRows>;
  }
}

/// A panel of the weight stays in L1 or L2 while all rows pass.
void product(const Int8Block& b) {
  for (int64_t j = b.begin; j < b.end; j += kStrip) {
    const int8_t* w = b.weight + j / kStrip * b.pairs * kStrip * 2;
    for (int64_t i = 0; i < b.m; i += kRows)
      tile_for(std::min<int64_t>(kRows, b.m - i))(b, b.x + i * b.pairs * 2, w, i, j, std::min(kStrip, b.end - j));
  }
}

template <class T>
void pack_bytes(const T* x, int64_t m, int64_t k, int64_t begin, int64_t end, int16_t* packed) {
  const int64_t pairs = (k + 1) / 2;
  for (int64_t i = begin; i < end; i += kRows) {
    int16_t* to = packed + i * pairs * 2;
    for (int64_t r = 0; r < kRows; ++r) {
      if (i + r >= m) {
        for (int64_t p = 0; p < pairs; ++p) to[(p * kRows + r) * 2] = to[(p * kRows + r) * 2 + 1] = 0;
        continue;
      }
      const T* from = x + (i + r) * k;
      for (int64_t p = 0; p < k / 2; ++p) {
        to[(p * kRows + r) * 2] = from[2 * p];
        to[(p * kRows + r) * 2 + 1] = from[2 * p + 1];
      }
      if (k % 2) {
        to[((pairs - 1) * kRows + r) * 2] = from[k - 1];
        to[((pairs - 1) * kRows + r) * 2 + 1] = 0;
      }
    }
  }
}

void pack_rows(const void* x, bool is_signed, int64_t m, int64_t k, int64_t begin, int64_t end, int16_t* packed) {
  if (is_signed)
    pack_bytes(static_cast<const int8_t*>(x), m, k, begin, end, packed);
  else
    pack_bytes(static_cast<const uint8_t*>(x), m, k, begin, end, packed);
}

}  // namespace

Int8Routines int8_target_routines() { return {pack_rows, product, kRows, static_cast<int>(kStrip)}; }

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
Int8Routines int8_routines() { return HW_BEST_TARGET(int8_target_routines)(); }
}  // namespace hw
#endif
