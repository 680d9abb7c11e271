// Products by a packed weight with bias, residual and activation, for each instruction set. The weight is read once, panel by
// panel, while the rows of x stay in L2; what follows the product is done on tiles of y that have just been written.
#include "kernels/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gemm/packed_f32.cpp"
#include "backends/cpu/gemm/targets.h"
// After targets.h.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/gemm/gemm_block-inl.h"
#include "backends/cpu/gemm/packed.h"
#include "kernels/elementwise/functors_float.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
using Value = float;
constexpr int64_t kValueLanes = 1;
Value value_at(const float* p) { return *p; }
void put(Value v, float* p) { *p = v; }
#else
using Value = Pack<float>;
constexpr int64_t kValueLanes = kLanes<float>;
HWY_INLINE Value value_at(const float* p) { return Value::load(p); }
HWY_INLINE void put(Value v, float* p) { v.store(p); }
#endif

// 4 x 24 reads less for each product than the 6 x 16 of gemm_block-inl.h: 92 against 84 GFLOP/s of 95, one core of Zen 3, in L1.
#if HWY_TARGET == HWY_AVX2
constexpr int kRows = 4, kVectors = 3;
#else
constexpr int kRows = kMR, kVectors = kNV;
#endif
constexpr int64_t kStrip = kVectors * kLanes<float>;  // columns of a tile
constexpr int64_t kMostDepth = 256;                   // a panel of the weight this long stays in L1
constexpr int64_t kColumnBytes = 192 << 10;           // of y that are summed up before the next columns

struct none {
  template <class T>
  T operator()(T x) const {
    return x;
  }
};
struct relu {
  template <class T>
  T operator()(T x) const {
    return math::at_least(x, T(0));
  }
};

/// y[M rows x strip] (+)= x W over `depth`; x has kRows rows side by side.
template <int M>
HWY_NOINLINE void tile(int64_t depth, const float* HWY_RESTRICT x, const float* HWY_RESTRICT w, int64_t width,
                       float* HWY_RESTRICT y, int64_t y_row, int64_t columns, bool accumulate) {
  const Full<float> d;
  constexpr int64_t lanes = kLanes<float>;
  hn::VFromD<Full<float>> sum[M][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  for (int64_t p = 0; p < depth; ++p) {
    hn::VFromD<Full<float>> row[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, w + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const auto left = hn::Set(d, x[i]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(left, row[j], sum[i][j]);
    }
    x += kRows;
    w += width;
  }
  HWY_ALIGN float edge[kStrip];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    float* to = y + i * y_row;
    if (columns >= kStrip) {
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j)
        hn::StoreU(accumulate ? hn::Add(sum[i][j], hn::LoadU(d, to + j * lanes)) : sum[i][j], d, to + j * lanes);
      continue;
    }
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sum[i][j], d, edge + j * lanes);
    for (int64_t j = 0; j < columns; ++j) to[j] = accumulate ? to[j] + edge[j] : edge[j];
  }
}

using TileFn = void (*)(int64_t, const float*, const float*, int64_t, float*, int64_t, int64_t, bool);

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

/// y = f(y + bias + residual) over a tile that begins at row `i` and column `j`.
template <class F>
HWY_NOINLINE void finish(const PackedBlock& b, int64_t i, int64_t rows, int64_t j, int64_t columns) {
  const F f{};
  for (int64_t r = i; r < i + rows; ++r) {
    float* y = b.y + r * b.y_row + j;
    const float* bias = b.bias ? b.bias + j : nullptr;
    const float* residual = b.residual ? b.residual + r * b.residual_row + j : nullptr;
    auto at = [&](const float* sum, const float* add_bias, const float* add_residual) HWY_ATTR {
      Value v = value_at(sum);
      if (add_bias) v = v + value_at(add_bias);
      if (add_residual) v = v + value_at(add_residual);
      return f(v);
    };
    int64_t c = 0;
    for (; c + kValueLanes <= columns; c += kValueLanes)
      put(at(y + c, bias ? bias + c : nullptr, residual ? residual + c : nullptr), y + c);
    if (c == columns) continue;
    HWY_ALIGN float rest[3][kLanes<float>] = {};
    const auto bytes = static_cast<size_t>(columns - c) * sizeof(float);
    std::memcpy(rest[0], y + c, bytes);
    if (bias) std::memcpy(rest[1], bias + c, bytes);
    if (residual) std::memcpy(rest[2], residual + c, bytes);
    put(at(rest[0], bias ? rest[1] : nullptr, residual ? rest[2] : nullptr), rest[0]);
    std::memcpy(y + c, rest[0], bytes);
  }
}

using FinishFn = void (*)(const PackedBlock&, int64_t, int64_t, int64_t, int64_t);

/// Null when there is nothing to do.
FinishFn finish_for(const PackedBlock& b) {
  switch (b.activation) {
    case Activation::None: return b.bias || b.residual ? finish<none> : nullptr;
    case Activation::Relu: return finish<relu>;
    case Activation::Gelu: return finish<functors::gelu>;
    case Activation::GeluTanh: return finish<functors::gelu_tanh>;
    case Activation::Tanh: return finish<functors::tanh>;
    case Activation::Sigmoid: return finish<functors::sigmoid>;
    default: return finish<functors::silu>;
  }
}

/// Parts of k that are summed up in registers, as even as possible.
int64_t depth_of(int64_t k) {
  const int64_t parts = std::max<int64_t>(1, (k + kMostDepth - 1) / kMostDepth);
  return (k + parts - 1) / parts;
}

/// All rows against one strip of columns, over one part of k. Between tiles the next strip's weight is called from memory.
void strip(const PackedBlock& b, FinishFn done, const float* x, const float* w, int64_t depth, int64_t j,
           int64_t columns, bool first, bool last) {
  const int64_t tiles = (b.m + kRows - 1) / kRows;
  const float* ahead = w + b.k * b.width;
  const int64_t lines = kStrip == b.width ? depth * b.width / 16 : 0;
  for (int64_t i = 0, t = 0; i < b.m; i += kRows, ++t) {
    for (int64_t line = lines * t / tiles; line < lines * (t + 1) / tiles; ++line)
      __builtin_prefetch(ahead + line * 16, 0, 2);
    const int64_t rows = std::min<int64_t>(kRows, b.m - i);
    tile_for(rows)(depth, x + i * depth, w, b.width, b.y + i * b.y_row + j, b.y_row, columns, !first);
    if (last && done) done(b, i, rows, j, columns);
  }
}

int64_t weight_at(const PackedBlock& b, int64_t p, int64_t j) {
  return (j / b.width * b.k + p) * b.width + j % b.width;
}

/// x is packed part of k after part, each with kRows rows side by side.
void product(const PackedBlock& b) {
  const int64_t most = depth_of(b.k), padded = (b.m + kRows - 1) / kRows * kRows;
  const int64_t fit = kColumnBytes / static_cast<int64_t>(sizeof(float)) / std::max<int64_t>(1, b.m);
  const int64_t wide = std::max<int64_t>(kStrip, fit / kStrip * kStrip);
  const FinishFn done = finish_for(b);
  for (int64_t j0 = b.begin; j0 < b.end; j0 += wide)
    for (int64_t p = 0; p == 0 || p < b.k; p += std::max<int64_t>(1, most)) {
      const int64_t depth = std::min(most, b.k - p);
      for (int64_t j = j0; j < std::min(b.end, j0 + wide); j += kStrip)
        strip(b, done, b.x + padded * p, b.weight + weight_at(b, p, j), depth, j, std::min(kStrip, b.end - j), p == 0,
              p + depth >= b.k);
    }
}

void pack_rows(const float* x, int64_t x_row, int64_t m, int64_t k, int64_t begin, int64_t end, float* packed) {
  const int64_t most = depth_of(k), padded = (m + kRows - 1) / kRows * kRows;
  for (int64_t p = 0; p < k; p += most) {
    const int64_t depth = std::min(most, k - p);
    pack(x + begin * x_row + p, x_row, int64_t{1}, end - begin, depth, int64_t{kRows},
         packed + padded * p + begin * depth);
  }
}

void pack_weight(const float* weight, int64_t row, int64_t column, int64_t count, int64_t k, int64_t width,
                 float* packed) {
  pack(weight, row, column, count, k, width, packed);
}

// ---- few rows: the weight streams through once, in enough strips at a time to keep the units busy ---------------------

constexpr int64_t kAhead = 24 * 16;  // floats of the weight called in advance

/// M rows against P strips of as many panels; the sums over all of k stay in registers.
template <int M, int P>
void rows_by_strips(const PackedBlock& b, const float* const (&from)[P], int64_t j, int64_t columns) {
  const Full<float> d;
  constexpr int64_t lanes = kLanes<float>;
  hn::VFromD<Full<float>> sum[M][P * kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < P * kVectors; ++v) sum[i][v] = hn::Zero(d);
  for (int64_t p = 0; p < b.k; ++p) {
#pragma GCC unroll 16
    for (int s = 0; s < P; ++s) {
      const float* w = from[s] + p * b.width;
      __builtin_prefetch(w + kAhead, 0, 3);
      hn::VFromD<Full<float>> row[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, w + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const auto left = hn::Set(d, b.x[i * b.x_row + p]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
          sum[i][s * kVectors + v] = hn::MulAdd(left, row[v], sum[i][s * kVectors + v]);
      }
    }
  }
  HWY_ALIGN float edge[P * kStrip];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < P * kVectors; ++v) hn::StoreU(sum[i][v], d, edge + v * lanes);
    std::memcpy(b.y + i * b.y_row + j, edge, static_cast<size_t>(columns) * sizeof(float));
  }
}

template <int M, int P>
void few(const PackedBlock& b) {
  const FinishFn done = finish_for(b);
  for (int64_t j = b.begin; j < b.end;) {
    const bool all = b.end - j > kStrip * (P - 1);
    const int64_t columns = std::min(b.end - j, all ? P * kStrip : kStrip);
    if (all) {
      const float* from[P];
      for (int s = 0; s < P; ++s) from[s] = b.weight + weight_at(b, 0, j + s * kStrip);
      rows_by_strips<M, P>(b, from, j, columns);
    } else {
      const float* from[1] = {b.weight + weight_at(b, 0, j)};
      rows_by_strips<M, 1>(b, from, j, columns);
    }
    if (done) done(b, 0, M, j, columns);
    j += columns;
  }
}

void few_rows(const PackedBlock& b) {
  switch (b.m) {
    case 0: return;
    case 1: return few<1, 3>(b);
    case 2: return few<2, 2>(b);
    case 3: return few<3, 1>(b);
    default: return few<4, 1>(b);
  }
}

}  // namespace

PackedRoutines packed_f32_routines() {
  return {pack_rows, pack_weight, product, few_rows, kRows, static_cast<int>(kStrip)};
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
PackedRoutines packed_routines() { return HW_BEST_TARGET(packed_f32_routines)(); }
}  // namespace hw
#endif
