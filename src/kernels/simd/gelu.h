// The gate of gelu's tanh form, and gelu for results that are rounded to 16 bits. Included once per instruction set.
#include "kernels/simd/math.h"

#if defined(HW_KERNELS_SIMD_GELU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_GELU_H
#undef HW_KERNELS_SIMD_GELU_H
#else
#define HW_KERNELS_SIMD_GELU_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace math {

constexpr double kGeluLimit = 10;  // where the gate is 1e-38, or 1 by less than a rounding
/// 1 / gate - 1 = exp(-2 inner(x)) for |x| <= kGeluLimit, since (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)).
template <RealOrVector T>
HWY_INLINE T gelu_odds(T x) {
  return exp_normal(T(-2) * gelu_inner(x));
}
template <RealOrVector T>
HWY_INLINE T gelu_limited(T x) {
  return at_most(at_least(x, T(-kGeluLimit)), T(kGeluLimit));
}

template <Real T>
T gelu_16bit(T x) {
  return gelu(x);
}
template <Real T>
T gelu_tanh_16bit(T x) {
  return at_least(x, T(-kGeluLimit)) / (T(1) + gelu_odds(gelu_limited(x)));
}

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
/// 2^x with relative error below 3e-6, where the result is a normal number.
HWY_INLINE Pack<float> exp2_short(Pack<float> x) {
  using P = Pack<float>;
  using C = Constants<float>;
  static constexpr float c[] = {0.9999993f, 0.6931218f, 0.24024744f, 0.05591786f, 0.009570101f};
  const P shifted = x + P(C::kPow2), r = x - (shifted - P(C::kPow2));
  const P power = hn::BitCast(Tag<float>(), hn::ShiftLeft<C::kMantissa>(hn::BitCast(UTag<float>(), shifted.v)));
  return poly(r, c) * power;
}
/// As gelu, with the tail Phi(-a) = 2^p(a) of relative error below 4e-5.
HWY_INLINE Pack<float> gelu_16bit(Pack<float> x) {
  using P = Pack<float>;
  static constexpr float c[] = {-1.0000461f,   -1.1504363f,    -0.46067753f,  -0.05167316f,
                                0.0073746564f, -0.0006411251f, 2.4862718e-05f};
  const P a = at_most(abs(x), P(5.7f)), tail = exp2_short(poly(a, c));
  return fnma(a, select(a > P(5.6f), P(0.0f), tail), at_least(x, P(0.0f)));
}
HWY_INLINE Pack<float> gelu_tanh_16bit(Pack<float> x) {
  using P = Pack<float>;
  const P odds = exp2_short(P(-2 * std::numbers::log2e) * gelu_inner(gelu_limited(x)));
  return at_least(x, P(-kGeluLimit)) / (P(1.0f) + odds);
}
#endif

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
