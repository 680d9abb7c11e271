// Error function, powers, remainders and other functions of packs. Included once per instruction set, as vector_math.h.
#include "kernels/simd/vector_math.h"

#if defined(HW_KERNELS_SIMD_VECTOR_SPECIAL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_VECTOR_SPECIAL_H
#undef HW_KERNELS_SIMD_VECTOR_SPECIAL_H
#else
#define HW_KERNELS_SIMD_VECTOR_SPECIAL_H
#endif

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace math {

/// Without branches: x (1 + p(x^2)) below 0.9, above it 1 - exp(q(|x|)) with q = log erfc.
HWY_INLINE Pack<float> erf(Pack<float> x) {
  using P = Pack<float>;
  static constexpr float near[] = {0.128379166f,   -0.376126319f,    0.112836793f,   -0.0268587954f,
                                   0.00519994833f, -0.000813337858f, 8.33933445e-05f};
  static constexpr float far[] = {0.000171002743f, -1.12949741f,    -0.633381963f,   -0.108241878f,
                                  0.0250949282f,   -0.00416182494f, 0.000432565896f, -2.09314949e-05f};
  const P a = at_most(abs(x), P(4.0f)), z = x * x;
  const P small = fma(x, poly(z, near), x);
  const P large = copysign(P(1.0f) - exp_normal(poly(a, far)), x);
  return select(a < P(0.9f), small, large);
}
HWY_INLINE Pack<double> erf(Pack<double> x) {
  return each_lane([](double t) { return std::erf(t); }, x);
}

/// Phi(-a), the upper tail of the normal distribution, for 0 <= a <= 5.7: exp(p(a)). Relative error below 2e-6 up to 3, where
/// 1 - erf has lost most digits; 0 beyond 5.6.
HWY_INLINE Pack<float> normal_tail(Pack<float> a) {
  using P = Pack<float>;
  static constexpr float c[] = {-0.693146944f,    -0.79789567f,     -0.318224013f,   -0.0365876742f,  0.00514925877f,
                                -0.000261563429f, -7.22429977e-05f, 1.87425703e-05f, -1.8748093e-06f, 7.30467562e-08f};
  return select(a > P(5.6f), P(0.0f), exp_normal(poly(a, c)));
}
HWY_INLINE Pack<float> normal_cdf(Pack<float> x) {
  using P = Pack<float>;
  const P tail = normal_tail(at_most(abs(x), P(5.7f)));
  return select(x > P(0.0f), P(1.0f) - tail, tail);
}
HWY_INLINE Pack<double> normal_cdf(Pack<double> x) {
  return each_lane([](double t) { return normal_cdf(t); }, x);
}
/// x Phi(x) = max(x, 0) - |x| Phi(-|x|).
HWY_INLINE Pack<float> gelu(Pack<float> x) {
  using P = Pack<float>;
  const P a = at_most(abs(x), P(5.7f));
  return fnma(a, normal_tail(a), at_least(x, P(0.0f)));
}
HWY_INLINE Pack<double> gelu(Pack<double> x) { return x * normal_cdf(x); }

// clang-format off
template <class T> HWY_INLINE Pack<T> erfc(Pack<T> x) { return each_lane([](T t) { return erfc(t); }, x); }
template <class T> HWY_INLINE Pack<T> erfinv(Pack<T> x) { return each_lane([](T t) { return erfinv(t); }, x); }
template <class T> HWY_INLINE Pack<T> lgamma(Pack<T> x) { return each_lane([](T t) { return lgamma(t); }, x); }
template <class T> HWY_INLINE Pack<T> digamma(Pack<T> x) { return each_lane([](T t) { return digamma(t); }, x); }
template <class T> HWY_INLINE Pack<T> trigamma(Pack<T> x) { return each_lane([](T t) { return trigamma(t); }, x); }
template <class T> HWY_INLINE Pack<T> nextafter(Pack<T> x, Pack<T> y) { return each_lane([](T t, T u) { return nextafter(t, u); }, x, y); }
// clang-format on

/// f in double precision on both halves of float packs.
template <class F, class... More>
HWY_INLINE Pack<float> in_double(F f, Pack<float> x, More... more) {
  constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);
  const Tag<double> d;
  const hn::Rebind<float, Tag<double>> half;
  alignas(64) float in[1 + sizeof...(more)][kLanes];
  size_t row = 0;
  x.store(in[row++]);
  (more.store(in[row++]), ...);
  for (int64_t k = 0; k < Pack<float>::lanes(); k += Pack<double>::lanes()) {
    auto at = [&](size_t r) HWY_ATTR { return Pack<double>(hn::PromoteTo(d, hn::LoadU(half, in[r] + k))); };
    Pack<double> y;
    if constexpr (sizeof...(more) == 0)
      y = f(at(0));
    else
      y = f(at(0), at(1));
    hn::StoreU(hn::DemoteTo(half, y.v), half, in[0] + k);
  }
  return Pack<float>::load(in[0]);
}

/// x^y by way of 2^(y log2 |x|); exact enough for float only. Rules of C for zeros, infinities and NaN.
HWY_INLINE Pack<double> pow_by_log(Pack<double> x, Pack<double> y) {
  using P = Pack<double>;
  const P zero(0.0), one(1.0), a = abs(x);
  const P size = exp2(y * log2(a));
  const auto integral = round(y) == y;
  const auto odd = integral & (round(y * P(0.5)) != y * P(0.5));
  P r = select(odd & signbit(x), -size, size);
  const P inf(std::numeric_limits<double>::infinity()), nan(std::numeric_limits<double>::quiet_NaN());
  r = select((x < zero) & (a < inf) & !integral, nan, r);
  r = select((x != x) | (y != y), x + y, r);
  const auto unit = (a == one) & ((x == one) | (abs(y) == inf));
  return select((y == zero) | unit, one, r);
}
HWY_INLINE Pack<float> pow_general(Pack<float> x, Pack<float> y) {
  return in_double([](Pack<double> a, Pack<double> b) HWY_ATTR { return pow_by_log(a, b); }, x, y);
}
HWY_INLINE Pack<double> pow_general(Pack<double> x, Pack<double> y) {
  return each_lane([](double a, double b) { return std::pow(a, b); }, x, y);
}
/// The exponents of everyday use first: one exponent for the whole pack is the common case.
template <class T>
HWY_INLINE Pack<T> pow(Pack<T> x, Pack<T> y) {
  if (all(y == Pack<T>(2))) return x * x;
  if (all(y == Pack<T>(3))) return x * x * x;
  if (all(y == Pack<T>(1))) return x;
  if (all(y == Pack<T>(-1))) return Pack<T>(1) / x;
  return pow_general(x, y);
}

/// Remainder with the sign of x. Exact by fused multiply-add while the quotient fits the mantissa; else lane by lane.
template <class T>
HWY_INLINE Pack<T> fmod(Pack<T> x, Pack<T> y) {
  const Pack<T> a = abs(x), b = abs(y), zero(0);
  const Pack<T> q = trunc(a / b);
  constexpr T limit = sizeof(T) == 4 ? T(4194304) : T(2251799813685248);
  const bool easy = all((q < Pack<T>(limit)) & (b < Pack<T>(std::numeric_limits<T>::infinity())));
  if (HWY_UNLIKELY(!easy)) return each_lane([](T t, T u) { return std::fmod(t, u); }, x, y);
  Pack<T> r = fnma(q, b, a);  // the rounded quotient may be one off
  r = select(r < zero, r + b, r);
  r = select(r >= b, r - b, r);
  return copysign(r, x);
}

HWY_INLINE Pack<double> hypot(Pack<double> x, Pack<double> y) {
  return each_lane([](double a, double b) { return std::hypot(a, b); }, x, y);
}
HWY_INLINE Pack<float> hypot(Pack<float> x, Pack<float> y) {
  const Pack<float> inf(std::numeric_limits<float>::infinity());
  const Pack<float> r = in_double([](Pack<double> a, Pack<double> b) HWY_ATTR { return sqrt(fma(a, a, b * b)); }, x, y);
  return select((abs(x) == inf) | (abs(y) == inf), inf, r);
}

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif  // with fused multiply-add
#endif
