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

/// Phi(-a), the upper tail of the normal distribution, for 0 <= a <= 5.7: exp(p(a)), with exp for this range alone. Relative error
/// below 2e-6 at 0 and 1e-5 at 3, where 1 - erf has lost most digits; 0 beyond 5.6.
HWY_INLINE Pack<float> normal_tail(Pack<float> a) {
  using P = Pack<float>;
  using C = Constants<float>;
  static constexpr float c[] = {-0.693146288f,    -0.797919273f,   -0.318078697f,  -0.0369234495f,  0.00552546559f,
                                -0.000491273822f, 8.02433988e-06f, 2.7504866e-06f, -1.87674516e-07f};
  static constexpr float e[] = {1.0f, 1.0f, 0.499991089f, 0.166664675f, 0.0419032425f, 0.00837376714f};
  const P x = poly(a, c), shifted = fma(x, P(std::numbers::log2e), P(C::kPow2));
  const P r = fnma(shifted - P(C::kPow2), P(std::numbers::ln2), x);
  const P power = hn::BitCast(Tag<float>(), hn::ShiftLeft<C::kMantissa>(hn::BitCast(UTag<float>(), shifted.v)));
  return select(a > P(5.6f), P(0.0f), poly(r, e) * power);
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
HWY_INLINE Pack<double> erfc(Pack<double> x) { return each_lane([](double t) { return erfc(t); }, x); }
HWY_INLINE Pack<double> erfinv(Pack<double> x) { return each_lane([](double t) { return erfinv(t); }, x); }
template <class T> HWY_INLINE Pack<T> lgamma(Pack<T> x) { return each_lane([](T t) { return lgamma(t); }, x); }
template <class T> HWY_INLINE Pack<T> digamma(Pack<T> x) { return each_lane([](T t) { return digamma(t); }, x); }
template <class T> HWY_INLINE Pack<T> trigamma(Pack<T> x) { return each_lane([](T t) { return trigamma(t); }, x); }
template <class T> HWY_INLINE Pack<T> nextafter(Pack<T> x, Pack<T> y) { return each_lane([](T t, T u) { return nextafter(t, u); }, x, y); }
// clang-format on

/// Below 0.5 from erf; above it exp(-x^2) f(x) / (1 + 2 x), where x^2 is kept with its rounding error.
HWY_INLINE Pack<float> erfc(Pack<float> x) {
  using P = Pack<float>;
  static constexpr float c[] = {1.27697837f,     -0.0927637592f, -0.166030571f,  0.164048731f,    -0.0542123765f,
                                -0.00800694246f, 0.00865876582f, 0.00115565676f, -0.00126020168f, -0.000241855421f};
  const P one(1.0f), two(2.0f), a = at_most(at_least(x, P(0.45f)), P(10.2f));
  const P square = a * a, lost = fma(a, a, -square);
  const P factor = poly((a - two) / (a + two), c) / fma(two, a, one);
  const P e = exp(-square);
  return select(x < P(0.5f), one - erf(x), factor * fnma(e, lost, e));
}
/// Giles' approximation in single precision (GPU Computing Gems, 2011).
HWY_INLINE Pack<float> erfinv(Pack<float> x) {
  using P = Pack<float>;
  static constexpr float near[] = {1.50140941f,      0.246640727f,    -0.00417768164f, -0.00125372503f, 0.00021858087f,
                                   -4.39150654e-06f, -3.5233877e-06f, 3.43273939e-07f, 2.81022636e-08f};
  static constexpr float far[] = {2.83297682f,     1.00167406f,    0.00943887047f,  -0.0076224613f,  0.00573950773f,
                                  -0.00367342844f, 0.00134934322f, 0.000100950558f, -0.000200214257f};
  const P one(1.0f), a = abs(x);
  const P w = -log((one - a) * (one + a));
  const P p = select(w < P(5.0f), poly(w - P(2.5f), near), poly(sqrt(w) - P(3.0f), far));
  const P inf(std::numeric_limits<float>::infinity());
  return select(a == one, copysign(inf, x), p * x);
}

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

/// 2^(y log2 a) for a >= 0, to some 2^-34: enough for a result in float. Infinite for 0 and infinity as the limits are.
HWY_INLINE Pack<double> pow_size(Pack<double> a, Pack<double> y) {
  using P = Pack<double>;
  using C = Constants<double>;
  static constexpr double log_c[] = {2.8853900817778442,  0.96179669412385249, 0.57707793913660066,
                                     0.41220959841750865, 0.31989073734201401, 0.28312395368624371};
  static constexpr double exp_c[] = {0.99999999995625122,    0.69314718053510904,   0.24022651245068172,
                                     0.055504109761089555,   0.0096180214374018864, 0.0013333422435194472,
                                     0.00015471054035533338, 1.5316557151986063e-05};
  P e;
  const P f = log_reduce(a, e), s = f / (f + P(2.0));
  const P t = y * fma(s, poly(s * s, log_c), e);
  const P clamped = at_least(at_most(t, P(1000.0)), P(-1000.0));
  const P shifted = clamped + P(C::kRound), n = shifted - P(C::kRound);
  return poly(clamped - n, exp_c) * pow2(n);
}
/// Rules of C for zeros, infinities, negative bases and NaN.
HWY_INLINE Pack<float> pow_general(Pack<float> x, Pack<float> y) {
  using P = Pack<float>;
  const P zero(0.0f), one(1.0f), a = abs(x), inf(std::numeric_limits<float>::infinity());
  P r = in_double([](Pack<double> b, Pack<double> c) HWY_ATTR { return pow_size(b, c); }, a, y);
  const auto integral = round(y) == y;
  const auto odd = integral & (round(y * P(0.5f)) != y * P(0.5f));
  const auto edge = (a == zero) | (a == inf);
  r = select(edge, select(((a == inf) & (y > zero)) | ((a == zero) & (y < zero)), inf, zero), r);
  r = select(odd & signbit(x), -r, r);
  r = select((x < zero) & (a < inf) & !integral, P(std::numeric_limits<float>::quiet_NaN()), r);
  r = select((x != x) | (y != y), x + y, r);
  return select((y == zero) | ((a == one) & ((x == one) | (abs(y) == inf))), one, r);
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
