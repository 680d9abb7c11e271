// Trigonometric functions of packs and their inverses. Included once per instruction set, as vector_math.h.
#include "kernels/simd/vector_math.h"

#if defined(HW_KERNELS_SIMD_VECTOR_TRIG_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_VECTOR_TRIG_H
#undef HW_KERNELS_SIMD_VECTOR_TRIG_H
#else
#define HW_KERNELS_SIMD_VECTOR_TRIG_H
#endif

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace math {

/// x = q pi/2 + r with |r| <= pi/4: sine and cosine of r, and the two low bits of q as masks.
template <class T>
struct Quadrant {
  Pack<T> sin, cos;
  PackMask<T> odd, upper;  // bit 0 and bit 1 of q
};

template <class T>
HWY_INLINE PackMask<T> bit_mask(hn::Vec<UTag<T>> bits, int bit) {
  const UTag<T> du;
  const auto mask = hn::Set(du, static_cast<hn::TFromD<UTag<T>>>(1) << bit);
  return hn::RebindMask(Tag<T>(), hn::Eq(hn::And(bits, mask), mask));
}

template <class T>
HWY_INLINE Quadrant<T> quadrant(Pack<T> x) {
  using C = Constants<T>;
  // The integer q stands in the low bits of q + 1.5 * 2^kMantissa.
  const Pack<T> shifted = fma(x, Pack<T>(2 / std::numbers::pi), Pack<T>(C::kRound));
  const Pack<T> q = shifted - Pack<T>(C::kRound);
  // Cody and Waite; with fused multiply-add the first difference is exact.
  Pack<T> r = fnma(q, Pack<T>(C::kHalfPi[0]), x);
  r = fnma(q, Pack<T>(C::kHalfPi[1]), r);
  r = fnma(q, Pack<T>(C::kHalfPi[2]), r);
  const Pack<T> z = r * r;
  const Pack<T> s = fma(r * z, poly(z, C::kSin), r);
  const Pack<T> c = fma(z * z, poly(z, C::kCos), fma(Pack<T>(-0.5), z, Pack<T>(1)));
  const auto bits = hn::BitCast(UTag<T>(), shifted.v);
  return {s, c, bit_mask<T>(bits, 0), bit_mask<T>(bits, 1)};
}
/// Whether an argument is finite and too large for the reduction above.
template <class T>
HWY_INLINE bool beyond_reduction(Pack<T> x) {
  const Pack<T> a = abs(x);
  return any((a > Pack<T>(Constants<T>::kTrigLimit)) & (a < Pack<T>(std::numeric_limits<T>::infinity())));
}
template <class T>
HWY_INLINE Pack<T> negate_if(PackMask<T> m, Pack<T> x) {
  return select(m, -x, x);
}

template <class T>
HWY_INLINE Pack<T> sin(Pack<T> x) {
  if (HWY_UNLIKELY(beyond_reduction(x))) return each_lane([](T t) { return sin(t); }, x);
  const Quadrant<T> q = quadrant(x);
  return select(x == Pack<T>(0), x, negate_if(q.upper, select(q.odd, q.cos, q.sin)));
}
template <class T>
HWY_INLINE Pack<T> cos(Pack<T> x) {
  if (HWY_UNLIKELY(beyond_reduction(x))) return each_lane([](T t) { return cos(t); }, x);
  const Quadrant<T> q = quadrant(x);
  // cos x = sin(x + pi/2): -sin in quadrant 1, -cos in 2, sin in 3.
  const Pack<T> value = select(q.odd, -q.sin, q.cos);
  return negate_if(q.upper, value);
}
template <class T>
HWY_INLINE Pack<T> tan(Pack<T> x) {
  if (HWY_UNLIKELY(beyond_reduction(x))) return each_lane([](T t) { return tan(t); }, x);
  const Quadrant<T> q = quadrant(x);
  return select(x == Pack<T>(0), x, select(q.odd, -q.cos, q.sin) / select(q.odd, q.sin, q.cos));
}

/// atan(y / x) for y, x >= 0. Reduced to |t| <= tan(pi/8) around 0, pi/4 and pi/2 with one division.
template <class T>
HWY_INLINE Pack<T> atan_ratio(Pack<T> y, Pack<T> x) {
  using C = Constants<T>;
  const Pack<T> zero(0), half(0.5);
  const PackMask<T> same = (y == x) & (y > zero);  // also two infinities
  const PackMask<T> steep = y > x * Pack<T>(2.414213562373095);
  const PackMask<T> middle = (y > x * Pack<T>(0.41421356237309503)) | same;
  // Halves, so that the sum of two large numbers does not overflow.
  Pack<T> numerator = select(steep, -x, select(middle, y * half - x * half, y));
  const Pack<T> denominator = select(steep, y, select(middle, y * half + x * half, x));
  numerator = select(same, zero, numerator);
  const Pack<T> t = select(numerator == zero, numerator, numerator / denominator), z = t * t;
  const Pack<T> turns = select(steep, Pack<T>(1), select(middle, half, zero));
  const Pack<T> r = fma(turns, Pack<T>(C::kHalfPi[1]), fma(t * z, poly(z, C::kAtan), t));
  return fma(turns, Pack<T>(C::kHalfPi[0]), r);
}
template <class T>
HWY_INLINE Pack<T> atan(Pack<T> x) {
  const Pack<T> r = copysign(atan_ratio(abs(x), Pack<T>(1)), x);
  return select(x == x, r, x);
}
template <class T>
HWY_INLINE Pack<T> atan2(Pack<T> y, Pack<T> x) {
  using C = Constants<T>;
  Pack<T> r = atan_ratio(abs(y), abs(x));
  const Pack<T> pi_high(2 * C::kHalfPi[0]), pi_low(2 * C::kHalfPi[1]);
  r = select(signbit(x), pi_high - (r - pi_low), r);
  return select((x == x) & (y == y), copysign(r, y), x + y);
}

/// For a = |x|: asin(s) with s = a, or s = sqrt((1 - a) / 2) where a > 1/2 (`far`).
template <class T>
HWY_INLINE Pack<T> asin_reduced(Pack<T> a, PackMask<T> far) {
  const Pack<T> z = select(far, fma(Pack<T>(-0.5), a, Pack<T>(0.5)), a * a);
  const Pack<T> s = select(far, sqrt(z), a);
  return fma(s * z, poly(z, Constants<T>::kAsin), s);
}
template <class T>
HWY_INLINE Pack<T> asin(Pack<T> x) {
  using C = Constants<T>;
  const Pack<T> a = abs(x);
  const PackMask<T> far = a > Pack<T>(0.5);
  const Pack<T> r = asin_reduced(a, far);
  const Pack<T> reflected = Pack<T>(C::kHalfPi[0]) - ((r + r) - Pack<T>(C::kHalfPi[1]));
  return copysign(select(far, reflected, r), x);
}
template <class T>
HWY_INLINE Pack<T> acos(Pack<T> x) {
  using C = Constants<T>;
  const Pack<T> a = abs(x), pi_high(2 * C::kHalfPi[0]), pi_low(2 * C::kHalfPi[1]);
  const PackMask<T> far = a > Pack<T>(0.5);
  const Pack<T> r = asin_reduced(a, far), twice = r + r;
  const Pack<T> near = Pack<T>(C::kHalfPi[0]) - (copysign(r, x) - Pack<T>(C::kHalfPi[1]));
  const Pack<T> distant = select(x < Pack<T>(0), pi_high - (twice - pi_low), twice);
  return select(far, distant, near);
}

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif  // with fused multiply-add
#endif
