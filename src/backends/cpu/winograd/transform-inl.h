// Winograd's transforms of tiles and weights, a vector of channels at a time. Included by winograd_f32.cpp once per target.

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kWinogradPanel>;
using Vec = hn::VFromD<Floats>;
constexpr int64_t kWinogradLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

/// kTile x kTile outputs of a convolution of stride kStride_; numbers are of one axis.
template <int kTile_, int kStride_>
struct Tiles {
  static constexpr int kTile = kTile_, kStride = kStride_;
  static constexpr int kWindow = (kTile - 1) * kStride + 3;  // pixels that a tile reads
  static constexpr int kAdvance = kTile * kStride;           // from tile to tile
  static constexpr int kProducts = kStride == 1 ? kTile + 2 : 2 * kTile + 1, kWeights = kTile + 2;
  /// The weight of a product of both axes.
  static constexpr int weight_of(int64_t product) {
    const int i = static_cast<int>(product) / kProducts, j = static_cast<int>(product) % kProducts;
    return (i < kWeights ? i : kWeights - 1) * kWeights + (j < kWeights ? j : kWeights - 1);
  }
};

template <class W>
struct Transform;

/// Points 0, 1, -1, infinity.
template <>
struct Transform<Tiles<2, 1>> {
  static HWY_INLINE void input(const Vec (&x)[4], Vec (&y)[4]) {
    y[0] = hn::Sub(x[2], x[0]);
    y[1] = hn::Add(x[2], x[1]);
    y[2] = hn::Sub(x[2], x[1]);
    y[3] = hn::Sub(x[3], x[1]);
  }
  static HWY_INLINE void weight(const Vec (&g)[3], Vec (&y)[4]) {
    const Vec half = hn::Set(Floats(), 0.5f), even = hn::Mul(hn::Add(g[0], g[2]), half), odd = hn::Mul(g[1], half);
    y[0] = hn::Neg(g[0]);
    y[1] = hn::Add(even, odd);
    y[2] = hn::Sub(even, odd);
    y[3] = g[2];
  }
  static HWY_INLINE void output(const Vec (&x)[4], Vec (&y)[2]) {
    y[0] = hn::Add(x[0], hn::Add(x[1], x[2]));
    y[1] = hn::Add(x[3], hn::Sub(x[1], x[2]));
  }
};

/// Points 0, a, -a, b, -b, infinity. Even and odd powers apart: each pair of points shares them.
template <>
struct Transform<Tiles<4, 1>> {
  static constexpr float a = kWinogradNear, b = kWinogradFar;
  static HWY_INLINE Vec set(double value) { return hn::Set(Floats(), static_cast<float>(value)); }
  static HWY_INLINE void input(const Vec (&x)[6], Vec (&y)[6]) {
    const Vec sum = set(a * a + b * b), product = set(a * a * b * b), a2 = set(a * a), b2 = set(b * b);
    y[0] = hn::MulAdd(product, x[0], hn::NegMulAdd(sum, x[2], x[4]));
    y[5] = hn::MulAdd(product, x[1], hn::NegMulAdd(sum, x[3], x[5]));
    const Vec even_a = hn::NegMulAdd(b2, x[2], x[4]), odd_a = hn::NegMulAdd(b2, x[1], x[3]);
    const Vec even_b = hn::NegMulAdd(a2, x[2], x[4]), odd_b = hn::NegMulAdd(a2, x[1], x[3]);
    y[1] = hn::MulAdd(set(a), odd_a, even_a);
    y[2] = hn::NegMulAdd(set(a), odd_a, even_a);
    y[3] = hn::MulAdd(set(b), odd_b, even_b);
    y[4] = hn::NegMulAdd(set(b), odd_b, even_b);
  }
  static HWY_INLINE void weight(const Vec (&g)[3], Vec (&y)[6]) {
    constexpr double da = a, db = b, at_a = 2 * da * da * (da * da - db * db), at_b = 2 * db * db * (db * db - da * da);
    const Vec even_a = hn::MulAdd(set(da * da / at_a), g[2], hn::Mul(set(1 / at_a), g[0]));
    const Vec even_b = hn::MulAdd(set(db * db / at_b), g[2], hn::Mul(set(1 / at_b), g[0]));
    y[0] = hn::Mul(set(1 / (da * da * db * db)), g[0]);
    y[1] = hn::MulAdd(set(da / at_a), g[1], even_a);
    y[2] = hn::NegMulAdd(set(da / at_a), g[1], even_a);
    y[3] = hn::MulAdd(set(db / at_b), g[1], even_b);
    y[4] = hn::NegMulAdd(set(db / at_b), g[1], even_b);
    y[5] = g[2];
  }
  static HWY_INLINE void output(const Vec (&x)[6], Vec (&y)[4]) {
    const Vec even_a = hn::Add(x[1], x[2]), odd_a = hn::Sub(x[1], x[2]);
    const Vec even_b = hn::Add(x[3], x[4]), odd_b = hn::Sub(x[3], x[4]);
    y[0] = hn::Add(x[0], hn::Add(even_a, even_b));
    y[1] = hn::MulAdd(set(b), odd_b, hn::Mul(set(a), odd_a));
    y[2] = hn::MulAdd(set(b * b), even_b, hn::Mul(set(a * a), even_a));
    y[3] = hn::MulAdd(set(b * b * b), odd_b, hn::MulAdd(set(a * a * a), odd_a, x[5]));
  }
};

/// The outer taps: points a, -a, b, -b, infinity on every other pixel. The middle one: the pixels between.
template <>
struct Transform<Tiles<4, 2>> {
  static constexpr double a = kStridedNear, b = kStridedFar;
  static HWY_INLINE Vec set(double value) { return hn::Set(Floats(), static_cast<float>(value)); }
  static HWY_INLINE void input(const Vec (&x)[9], Vec (&y)[9]) {
    const Vec a2 = set(a * a), b2 = set(b * b);
    const Vec even_a = hn::NegMulAdd(b2, x[0], x[4]), odd_a = hn::NegMulAdd(b2, x[2], x[6]);
    const Vec even_b = hn::NegMulAdd(a2, x[0], x[4]), odd_b = hn::NegMulAdd(a2, x[2], x[6]);
    y[0] = hn::MulAdd(set(a), even_a, odd_a);
    y[1] = hn::NegMulAdd(set(a), even_a, odd_a);
    y[2] = hn::MulAdd(set(b), even_b, odd_b);
    y[3] = hn::NegMulAdd(set(b), even_b, odd_b);
    y[4] = hn::MulAdd(set(a * a * b * b), x[0], hn::NegMulAdd(set(a * a + b * b), x[4], x[8]));
    y[5] = x[1], y[6] = x[3], y[7] = x[5], y[8] = x[7];
  }
  static HWY_INLINE void weight(const Vec (&g)[3], Vec (&y)[6]) {
    constexpr double at_a = 2 * a * (a * a - b * b), at_b = 2 * b * (b * b - a * a);
    const Vec even_a = hn::Mul(set(1 / at_a), g[0]), even_b = hn::Mul(set(1 / at_b), g[0]);
    y[0] = hn::MulAdd(set(a / at_a), g[2], even_a);
    y[1] = hn::MulSub(set(a / at_a), g[2], even_a);
    y[2] = hn::MulAdd(set(b / at_b), g[2], even_b);
    y[3] = hn::MulSub(set(b / at_b), g[2], even_b);
    y[4] = g[2];
    y[5] = g[1];
  }
  static HWY_INLINE void output(const Vec (&x)[9], Vec (&y)[4]) {
    const Vec even_a = hn::Add(x[0], x[1]), odd_a = hn::Sub(x[0], x[1]);
    const Vec even_b = hn::Add(x[2], x[3]), odd_b = hn::Sub(x[2], x[3]);
    y[0] = hn::Add(x[5], hn::Add(even_a, even_b));
    y[1] = hn::MulAdd(set(b), odd_b, hn::MulAdd(set(a), odd_a, x[6]));
    y[2] = hn::MulAdd(set(b * b), even_b, hn::MulAdd(set(a * a), even_a, x[7]));
    y[3] = hn::MulAdd(set(b * b * b), odd_b, hn::MulAdd(set(a * a * a), odd_a, hn::Add(x[4], x[8])));
  }
};

/// B^T d B of one tile: rows of pixels `row_step` apart, pixels kPixel apart; results `step` apart.
template <class W, int kPixel>
HWY_INLINE void input_tile(const float* HWY_RESTRICT from, int64_t row_step, float* HWY_RESTRICT to, int64_t step) {
  constexpr int window = W::kWindow, products = W::kProducts;
  const Floats d;
  HWY_ALIGN float middle[products * window * kWinogradLanes];
#pragma GCC unroll 9
  for (int j = 0; j < window; ++j) {
    Vec x[window], y[products];
#pragma GCC unroll 9
    for (int i = 0; i < window; ++i) x[i] = hn::LoadU(d, from + i * row_step + j * kPixel);
    Transform<W>::input(x, y);
#pragma GCC unroll 9
    for (int i = 0; i < products; ++i) hn::Store(y[i], d, middle + (i * window + j) * kWinogradLanes);
  }
#pragma GCC unroll 9
  for (int i = 0; i < products; ++i) {
    Vec x[window], y[products];
#pragma GCC unroll 9
    for (int j = 0; j < window; ++j) x[j] = hn::Load(d, middle + (i * window + j) * kWinogradLanes);
    Transform<W>::input(x, y);
#pragma GCC unroll 9
    for (int j = 0; j < products; ++j) hn::Store(y[j], d, to + (i * products + j) * step);
  }
}

/// What becomes of a sum: the bias of its channel is added, then the residual, and the result is brought into [low, high].
struct Finish {
  const float* bias;
  const float* residual;  // laid out as the results; may be null
  float low, high;
};

/// The results of one tile: products `step` apart; rows of pixels `row_step` apart, pixels kPixel apart.
template <class W, int kPixel>
HWY_INLINE void output_tile(const float* HWY_RESTRICT from, int64_t step, const Finish& finish, float* to,
                            int64_t row_step) {
  constexpr int n = W::kProducts, kTile = W::kTile;
  const Floats d;
  HWY_ALIGN float middle[kTile * n * kWinogradLanes];
#pragma GCC unroll 9
  for (int j = 0; j < n; ++j) {
    Vec x[n], y[kTile];
#pragma GCC unroll 9
    for (int i = 0; i < n; ++i) x[i] = hn::Load(d, from + (i * n + j) * step);
    Transform<W>::output(x, y);
#pragma GCC unroll 9
    for (int i = 0; i < kTile; ++i) hn::Store(y[i], d, middle + (i * n + j) * kWinogradLanes);
  }
  const Vec added = hn::Load(d, finish.bias), low = hn::Set(d, finish.low), high = hn::Set(d, finish.high);
#pragma GCC unroll 9
  for (int i = 0; i < kTile; ++i) {
    Vec x[n], y[kTile];
#pragma GCC unroll 9
    for (int j = 0; j < n; ++j) x[j] = hn::Load(d, middle + (i * n + j) * kWinogradLanes);
    Transform<W>::output(x, y);
#pragma GCC unroll 9
    for (int j = 0; j < kTile; ++j) {
      Vec value = hn::Add(y[j], added);
      if (finish.residual) value = hn::Add(value, hn::LoadU(d, finish.residual + i * row_step + j * kPixel));
      value = hn::IfThenElse(hn::Lt(value, low), low, value);  // NaN stays
      value = hn::IfThenElse(hn::Gt(value, high), high, value);
      hn::StoreU(value, d, to + i * row_step + j * kPixel);
    }
  }
}

/// G g G^T for a vector of output channels: nine weights to (tile + 2)^2, `step` apart.
template <class W>
HWY_INLINE void weight_tile(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, int64_t step) {
  constexpr int n = W::kWeights;
  const Floats d;
  Vec middle[n][3];
#pragma GCC unroll 3
  for (int j = 0; j < 3; ++j) {
    Vec g[3], y[n];
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) g[i] = hn::Load(d, from + (i * 3 + j) * kWinogradPanel);
    Transform<W>::weight(g, y);
#pragma GCC unroll 6
    for (int i = 0; i < n; ++i) middle[i][j] = y[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < n; ++i) {
    Vec y[n];
    Transform<W>::weight(middle[i], y);
#pragma GCC unroll 6
    for (int j = 0; j < n; ++j) hn::StoreU(y[j], d, to + (i * n + j) * step);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
