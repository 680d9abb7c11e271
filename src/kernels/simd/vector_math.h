// Elementary functions of packs: polynomials fitted for this project (weighted minimax on Chebyshev nodes), no tables.
// Included once per instruction set: everything lives in hw::HWY_NAMESPACE::math. Needs fused multiply-add.
#include "kernels/simd/scalar_math.h"

#if defined(HW_KERNELS_SIMD_VECTOR_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_VECTOR_MATH_H
#undef HW_KERNELS_SIMD_VECTOR_MATH_H
#else
#define HW_KERNELS_SIMD_VECTOR_MATH_H
#endif

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace math {

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using UTag = hn::RebindToUnsigned<Tag<T>>;
template <class T>
using STag = hn::RebindToSigned<Tag<T>>;

// clang-format off
template <class T> HWY_INLINE Pack<T> sqrt(Pack<T> x) { return hn::Sqrt(x.v); }
template <class T> HWY_INLINE Pack<T> floor(Pack<T> x) { return hn::Floor(x.v); }
template <class T> HWY_INLINE Pack<T> ceil(Pack<T> x) { return hn::Ceil(x.v); }
template <class T> HWY_INLINE Pack<T> trunc(Pack<T> x) { return hn::Trunc(x.v); }
template <class T> HWY_INLINE Pack<T> round(Pack<T> x) { return hn::Round(x.v); }
template <class T> HWY_INLINE Pack<T> abs(Pack<T> x) { return hn::Abs(x.v); }
template <class T> HWY_INLINE Pack<T> copysign(Pack<T> x, Pack<T> sign) { return hn::CopySign(x.v, sign.v); }
template <class T> HWY_INLINE Pack<T> fma(Pack<T> a, Pack<T> b, Pack<T> c) { return hn::MulAdd(a.v, b.v, c.v); }
template <class T> HWY_INLINE Pack<T> fnma(Pack<T> a, Pack<T> b, Pack<T> c) { return hn::NegMulAdd(a.v, b.v, c.v); }
// clang-format on
template <class T>
HWY_INLINE PackMask<T> signbit(Pack<T> x) {
  return hn::MaskFromVec(hn::BitCast(Tag<T>(), hn::BroadcastSignBit(hn::BitCast(STag<T>(), x.v))));
}
template <class T>
HWY_INLINE bool any(PackMask<T> m) {
  return !hn::AllFalse(Tag<T>(), m.m);
}
template <class T>
HWY_INLINE bool all(PackMask<T> m) {
  return hn::AllTrue(Tag<T>(), m.m);
}
/// The greater or smaller of x and a bound that is a number; a NaN in x stays.
template <class T>
HWY_INLINE Pack<T> at_least(Pack<T> x, Pack<T> bound) {
  return hn::Max(bound.v, x.v);
}
template <class T>
HWY_INLINE Pack<T> at_most(Pack<T> x, Pack<T> bound) {
  return hn::Min(bound.v, x.v);
}

/// c[0] + c[1] x + c[2] x^2 ...
template <class T, size_t N>
HWY_INLINE Pack<T> poly(Pack<T> x, const T (&c)[N]) {
  Pack<T> r(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) r = fma(r, x, Pack<T>(c[i]));
  return r;
}

/// Constants that differ between float and double.
template <class T>
struct Constants;
template <>
struct Constants<float> {
  static constexpr int kMantissa = 23;
  static constexpr uint32_t kOneBits = 0x3f800000u, kMantissaMask = 0x007fffffu, kExponentToFloat = 0x4b000000u;
  static constexpr float kExponentBase = 8388608.0f + 127.0f;  // what kExponentToFloat adds, and the bias
  static constexpr float kRound = 12582912.0f, kPow2 = 12582912.0f + 127.0f;  // 1.5 * 2^23
  static constexpr float kExpLow = -104.0f, kExpHigh = 90.0f, kExpm1Low = -18.0f, kExpm1High = 88.8f;
  static constexpr float kExp2Low = -151.0f, kExp2High = 129.0f;
  static constexpr float kSmallest = 1.17549435e-38f, kScaleUp = 33554432.0f, kScaleUpLog2 = 25.0f;
  static constexpr float kTrigLimit = 5e4f, kHuge = 33554432.0f;
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194442e-4f;
  static constexpr float kHalfPi[3] = {1.57079637f, -4.37113883e-8f, -1.71512451e-15f};
  static constexpr float kLog10Of2High = 0.301025391f, kLog10Of2Low = 4.60503907e-6f;
  static constexpr float kExp[] = {0.5f, 0.166665137f, 0.0416664295f, 0.0083695231f, 0.00139383331f};
  static constexpr float kSin[] = {-0.166666538f, 0.00833211001f, -0.000195085624f};
  static constexpr float kCos[] = {0.0416666456f, -0.00138873025f, 2.44308812e-05f};
  static constexpr float kAtan[] = {-0.333333135f, 0.199983776f, -0.142418608f, 0.10581819f, -0.0604826063f};
  static constexpr float kAsin[] = {0.166666597f,  0.0750051811f, 0.0445145257f,
                                    0.0318267718f, 0.0143698771f, 0.0376092456f};
};
template <>
struct Constants<double> {
  static constexpr int kMantissa = 52;
  static constexpr uint64_t kOneBits = 0x3ff0000000000000u, kMantissaMask = 0x000fffffffffffffu,
                            kExponentToFloat = 0x4330000000000000u;
  static constexpr double kExponentBase = 4503599627370496.0 + 1023.0;
  static constexpr double kRound = 6755399441055744.0, kPow2 = 6755399441055744.0 + 1023.0;  // 1.5 * 2^52
  static constexpr double kExpLow = -746.0, kExpHigh = 711.0, kExpm1Low = -40.0, kExpm1High = 709.9;
  static constexpr double kExp2Low = -1080.0, kExp2High = 1025.0;
  static constexpr double kSmallest = 2.2250738585072014e-308, kScaleUp = 18014398509481984.0, kScaleUpLog2 = 54.0;
  static constexpr double kTrigLimit = 1e8, kHuge = 18014398509481984.0;
  static constexpr double kLn2High = 0.69314718036912382, kLn2Low = 1.9082149292705877e-10;
  static constexpr double kHalfPi[3] = {1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33};
  static constexpr double kLog10Of2High = 0.30102999560767785, kLog10Of2Low = 5.630334806675098e-11;
  static constexpr double kExp[] = {0.5,
                                    0.16666666666666685,
                                    0.041666666666666699,
                                    0.0083333333333156685,
                                    0.0013888888888865599,
                                    0.00019841269899806131,
                                    2.4801587364212865e-05,
                                    2.7557231423142658e-06,
                                    2.7557239403023778e-07,
                                    2.5113239309503971e-08,
                                    2.0925473959872436e-09};
  static constexpr double kSin[] = {-0.16666666666666666,  0.0083333333333330973,   -0.00019841269841052868,
                                    2.755731912747589e-06, -2.5052085648260674e-08, 1.6056227273529404e-10,
                                    -7.484735788780093e-13};
  static constexpr double kCos[] = {0.041666666666666588,    -0.0013888888888872152, 2.4801587288250395e-05,
                                    -2.7557313995339125e-07, 2.0875674497948378e-09, -1.1357106601600852e-11};
  static constexpr double kAtan[] = {-0.33333333333333326,  0.19999999999997203,   -0.14285714285336568,
                                     0.11111111085246844,   -0.090909080457255154, 0.076922806413862024,
                                     -0.066661968272830385, 0.058767391506545717,  -0.052166398110863911,
                                     0.044965600028756117,  -0.033315392226108291, 0.015036787418803257};
  static constexpr double kAsin[] = {
      0.16666666666666766,  0.074999999999696546,  0.044642857175572995, 0.030381942665364314, 0.02237221611613055,
      0.017351592555174336, 0.013981046954478722,  0.011397100273912447, 0.010790241871349766, 0.003669146121780896,
      0.021797254049526829, -0.021125235063987346, 0.032707089827811724};
};

/// 2^n for integral n that gives a normal number: n is put into the exponent by way of the low bits of n + 1.5 * 2^kMantissa.
template <class T>
HWY_INLINE Pack<T> pow2(Pack<T> n) {
  using C = Constants<T>;
  const auto bits = hn::BitCast(UTag<T>(), (n + Pack<T>(C::kPow2)).v);
  return hn::BitCast(Tag<T>(), hn::ShiftLeft<C::kMantissa>(bits));
}
/// p * 2^n in two steps, so that results may be subnormal or overflow.
template <class T>
HWY_INLINE Pack<T> scale(Pack<T> p, Pack<T> n) {
  const Pack<T> half = round(n * Pack<T>(0.5));
  return p * pow2(half) * pow2(n - half);
}
/// n = round(x / ln 2), r = x - n ln 2.
template <class T>
HWY_INLINE Pack<T> exp_reduce(Pack<T> x, Pack<T>& n) {
  using C = Constants<T>;
  n = round(x * Pack<T>(std::numbers::log2e));
  return fnma(n, Pack<T>(C::kLn2Low), fnma(n, Pack<T>(C::kLn2High), x));
}
/// exp(r) - 1 for |r| <= ln(2) / 2.
template <class T>
HWY_INLINE Pack<T> expm1_small(Pack<T> r) {
  return fma(r * r, poly(r, Constants<T>::kExp), r);
}
/// exp(x) * 2^shift for a small integral shift.
template <class T>
HWY_INLINE Pack<T> exp_shifted(Pack<T> x, T shift) {
  using C = Constants<T>;
  Pack<T> n;
  const Pack<T> r = exp_reduce(at_least(at_most(x, Pack<T>(C::kExpHigh)), Pack<T>(C::kExpLow)), n);
  return scale(expm1_small(r) + Pack<T>(1), n + Pack<T>(shift));
}
template <class T>
HWY_INLINE Pack<T> exp(Pack<T> x) {
  return exp_shifted(x, T(0));
}
/// exp(x) where the result is known to be a normal number or a NaN.
template <class T>
HWY_INLINE Pack<T> exp_normal(Pack<T> x) {
  using C = Constants<T>;
  // round(x / ln 2) + 1.5 * 2^kMantissa + bias: both n and the bits of 2^n come from it.
  const Pack<T> shifted = fma(x, Pack<T>(std::numbers::log2e), Pack<T>(C::kPow2));
  const Pack<T> n = shifted - Pack<T>(C::kPow2);
  const Pack<T> r = fnma(n, Pack<T>(C::kLn2Low), fnma(n, Pack<T>(C::kLn2High), x));
  const Pack<T> power = hn::BitCast(Tag<T>(), hn::ShiftLeft<C::kMantissa>(hn::BitCast(UTag<T>(), shifted.v)));
  return fma(expm1_small(r), power, power);
}
template <class T>
HWY_INLINE Pack<T> exp2(Pack<T> x) {
  using C = Constants<T>;
  x = at_least(at_most(x, Pack<T>(C::kExp2High)), Pack<T>(C::kExp2Low));
  const Pack<T> n = round(x);
  return scale(expm1_small((x - n) * Pack<T>(std::numbers::ln2)) + Pack<T>(1), n);
}
/// exp(x) - 1, but +0 for -0. Half the result first, because 2^n may overflow where the result does not.
template <class T>
HWY_INLINE Pack<T> expm1_unsigned(Pack<T> x) {
  using C = Constants<T>;
  Pack<T> n;
  const Pack<T> r = exp_reduce(at_least(at_most(x, Pack<T>(C::kExpm1High)), Pack<T>(C::kExpm1Low)), n);
  const Pack<T> s = pow2(n - Pack<T>(1));
  const Pack<T> h = fma(s, expm1_small(r), s - Pack<T>(0.5));
  return h + h;
}
template <class T>
HWY_INLINE Pack<T> expm1(Pack<T> x) {
  return select(x == Pack<T>(0), x, expm1_unsigned(x));
}

/// x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for normal positive x.
template <class T>
HWY_INLINE Pack<T> log_reduce(Pack<T> x, Pack<T>& e) {
  using C = Constants<T>;
  const UTag<T> du;
  const auto bits = hn::BitCast(du, x.v);
  const auto exponent = hn::Or(hn::ShiftRight<C::kMantissa>(bits), hn::Set(du, C::kExponentToFloat));
  const auto mantissa = hn::Or(hn::And(bits, hn::Set(du, C::kMantissaMask)), hn::Set(du, C::kOneBits));
  e = Pack<T>(hn::BitCast(Tag<T>(), exponent)) - Pack<T>(C::kExponentBase);
  const Pack<T> m = hn::BitCast(Tag<T>(), mantissa);
  const PackMask<T> high = m > Pack<T>(std::numbers::sqrt2);
  e = select(high, e + Pack<T>(1), e);
  return select(high, m * Pack<T>(0.5), m) - Pack<T>(1);
}
/// log(1 + f) - f, given the range of log_reduce, plus a small addend.
HWY_INLINE Pack<float> log_tail(Pack<float> f, Pack<float> addend) {
  static constexpr float c[] = {0.333333105f, -0.249999881f, 0.20002228f,   -0.166691661f, 0.142185465f,
                                -0.12385723f, 0.118750654f,  -0.117827669f, 0.0690277517f};
  const Pack<float> z = f * f;
  return fma(Pack<float>(-0.5f), z, fma(z * f, poly(f, c), addend));
}
HWY_INLINE Pack<double> log_tail(Pack<double> f, Pack<double> addend) {
  static constexpr double c[] = {0.66666666666666663, 0.40000000000005009, 0.28571428569360613, 0.22222222617135415,
                                 0.18181777388746795, 0.15387036270649251, 0.13250986909427598, 0.13246013121554515};
  const Pack<double> s = f / (f + Pack<double>(2)), z = s * s, half = Pack<double>(0.5) * f * f;
  return fma(s, fma(z, poly(z, c), half), addend) - half;
}
/// Argument of log made normal, with the exponent that this takes away.
template <class T>
HWY_INLINE Pack<T> log_normalised(Pack<T> x, Pack<T>& e) {
  using C = Constants<T>;
  const PackMask<T> small = x < Pack<T>(C::kSmallest);
  const Pack<T> f = log_reduce(select(small, x * Pack<T>(C::kScaleUp), x), e);
  e = select(small, e - Pack<T>(C::kScaleUpLog2), e);
  return f;
}
/// The results of a logarithm at 0, below 0, at infinity and NaN.
template <class T>
HWY_INLINE Pack<T> log_special(Pack<T> x, Pack<T> result) {
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  result = select(x < Pack<T>(inf), result, x);
  return select(x <= Pack<T>(0), select(x == Pack<T>(0), Pack<T>(-inf), Pack<T>(nan)), result);
}
template <class T>
HWY_INLINE Pack<T> log(Pack<T> x) {
  using C = Constants<T>;
  Pack<T> e;
  const Pack<T> f = log_normalised(x, e);
  return log_special(x, fma(e, Pack<T>(C::kLn2High), f + log_tail(f, e * Pack<T>(C::kLn2Low))));
}
template <class T>
HWY_INLINE Pack<T> log2(Pack<T> x) {
  Pack<T> e;
  const Pack<T> f = log_normalised(x, e);
  return log_special(x, fma(f + log_tail(f, Pack<T>(0)), Pack<T>(std::numbers::log2e), e));
}
template <class T>
HWY_INLINE Pack<T> log10(Pack<T> x) {
  using C = Constants<T>;
  Pack<T> e;
  const Pack<T> f = log_normalised(x, e);
  const Pack<T> low = fma(f + log_tail(f, Pack<T>(0)), Pack<T>(std::numbers::log10e), e * Pack<T>(C::kLog10Of2Low));
  return log_special(x, fma(e, Pack<T>(C::kLog10Of2High), low));
}
/// log(1 + x): the rounding error of 1 + x is put back into the reduced argument.
template <class T>
HWY_INLINE Pack<T> log1p(Pack<T> x) {
  using C = Constants<T>;
  const Pack<T> one(1), u = x + one;
  const Pack<T> lost = select(x > one, one - (u - x), x - (u - one));
  Pack<T> e;
  const Pack<T> reduced = log_reduce(u, e);
  const Pack<T> f = fma(lost, pow2(-at_most(e, Pack<T>(100))), reduced);
  const Pack<T> r = fma(e, Pack<T>(C::kLn2High), f + log_tail(f, e * Pack<T>(C::kLn2Low)));
  return select(x == Pack<T>(0), x, log_special(u, r));
}

/// tanh of |x| from expm1(2 |x|); the limit keeps infinity out and is beyond where the result rounds to 1.
template <class T>
HWY_INLINE Pack<T> tanh(Pack<T> x) {
  const Pack<T> a = at_most(abs(x), Pack<T>(sizeof(T) == 4 ? 10 : 20));
  const Pack<T> e = expm1_unsigned(a + a);
  return copysign(e / (e + Pack<T>(2)), x);
}
template <class T>
HWY_INLINE Pack<T> sigmoid(Pack<T> x) {
  return Pack<T>(1) / (Pack<T>(1) + exp(-x));
}
template <class T>
HWY_INLINE Pack<T> sinh(Pack<T> x) {
  const Pack<T> a = abs(x), e = expm1_unsigned(a);
  const Pack<T> small = Pack<T>(0.5) * (e + e / (e + Pack<T>(1)));
  return copysign(select(a > Pack<T>(20), exp_shifted(a, T(-1)), small), x);
}
template <class T>
HWY_INLINE Pack<T> cosh(Pack<T> x) {
  const Pack<T> half = exp_shifted(abs(x), T(-1));
  return half + Pack<T>(0.25) / half;
}
template <class T>
HWY_INLINE Pack<T> asinh(Pack<T> x) {
  const Pack<T> a = abs(x), one(1), huge(Constants<T>::kHuge);
  const Pack<T> u = a + a * a / (one + sqrt(fma(a, a, one)));
  const Pack<T> r = log1p(select(a > huge, a, u)) + select(a > huge, Pack<T>(std::numbers::ln2), Pack<T>(0));
  return copysign(r, x);
}
template <class T>
HWY_INLINE Pack<T> acosh(Pack<T> x) {
  const Pack<T> t = x - Pack<T>(1), huge(Constants<T>::kHuge);
  const Pack<T> u = t + sqrt(fma(t, t, t + t));
  const Pack<T> r = log1p(select(x > huge, x, u)) + select(x > huge, Pack<T>(std::numbers::ln2), Pack<T>(0));
  return select(t < Pack<T>(0), Pack<T>(std::numeric_limits<T>::quiet_NaN()), r);
}
template <class T>
HWY_INLINE Pack<T> atanh(Pack<T> x) {
  const Pack<T> a = abs(x);
  return copysign(Pack<T>(0.5) * log1p((a + a) / (Pack<T>(1) - a)), x);
}

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif  // with fused multiply-add
#endif
