// Addition, multiplication, division and order for every type a functor meets: wrapping integers, floats, complex, packs.
// Included once per instruction set: everything lives in hw::HWY_NAMESPACE::math.
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/simd/pack.h"

#if defined(HW_KERNELS_SIMD_ARITHMETIC_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_ARITHMETIC_H
#undef HW_KERNELS_SIMD_ARITHMETIC_H
#else
#define HW_KERNELS_SIMD_ARITHMETIC_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

template <class T>
concept Integer = std::is_integral_v<T>;
template <class T>
concept SignedInteger = std::is_integral_v<T> && std::is_signed_v<T>;
template <class T>
concept Real = std::is_floating_point_v<T>;
template <class T>
concept Complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
concept Vector = requires(T x) {
  x.v;
};
template <class T>
concept RealOrVector = Real<T> || Vector<T>;

namespace math {

/// Unsigned type in which T computes without promotion to a signed int and without undefined overflow.
template <class T>
using Wide = std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>;

template <class T>
HWY_INLINE T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (Integer<T>)
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  else
    return a + b;
}
template <class T>
HWY_INLINE T sub(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a != b;
  else if constexpr (Integer<T>)
    return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  else
    return a - b;
}
/// Complex products by the plain formula, as torch and NumPy have it: no recovery of infinities.
template <class T>
HWY_INLINE T mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (Integer<T>)
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  else if constexpr (Complex<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}
/// Complex quotients by Smith's formula, so that large and small parts do not overflow on the way.
template <Complex T>
HWY_INLINE T div(T a, T b) {
  using R = typename T::value_type;
  const R c = b.real(), d = b.imag();
  if (std::abs(c) >= std::abs(d)) {
    if (c == 0 && d == 0) return T(a.real() / std::abs(c), a.imag() / std::abs(d));
    const R ratio = d / c, scale = 1 / (c + d * ratio);
    return T((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale);
  }
  const R ratio = c / d, scale = 1 / (c * ratio + d);
  return T((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
}
template <RealOrVector T>
HWY_INLINE T div(T a, T b) {
  return a / b;
}
template <class T>
HWY_INLINE T neg(T a) {
  if constexpr (Integer<T>)
    return static_cast<T>(Wide<T>(0) - static_cast<Wide<T>>(a));
  else
    return -a;
}

template <class T>
struct ValueOfType {
  using type = T;
};
template <Vector T>
struct ValueOfType<T> {
  using type = typename T::Scalar;
};
/// float for float and Pack<float>.
template <class T>
using ValueOf = typename ValueOfType<T>::type;

/// Limits by a bound that is a number; a NaN in x stays.
template <class T>
requires std::is_arithmetic_v<T> HWY_INLINE T at_least(T x, T bound) { return x < bound ? bound : x; }
template <class T>
requires std::is_arithmetic_v<T> HWY_INLINE T at_most(T x, T bound) { return x > bound ? bound : x; }
/// NaN if either is one.
template <class T>
HWY_INLINE T maximum(T a, T b) {
  return select((a > b) | (a != a), a, b);
}
template <class T>
HWY_INLINE T minimum(T a, T b) {
  return select((a < b) | (a != a), a, b);
}
/// -1, 0 or 1; 0 for NaN, as in torch.
template <class T>
HWY_INLINE T sign(T x) {
  return select(x > T(0), T(1), select(x < T(0), static_cast<T>(neg(T(1))), T(0)));
}

/// Integer division toward zero without traps: by 0 gives 0, and the smallest number by -1 itself.
template <Integer T>
HWY_INLINE T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (SignedInteger<T>)
    if (b == T(-1)) return neg(a);
  return static_cast<T>(a / b);
}
/// Remainder of that division: it has the sign of a.
template <Integer T>
HWY_INLINE T modulo(T a, T b) {
  if (b == 0) return 0;
  if constexpr (SignedInteger<T>)
    if (b == T(-1)) return 0;
  return static_cast<T>(a % b);
}
template <Integer T>
HWY_INLINE T remainder(T a, T b) {
  const T r = modulo(a, b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}
template <Integer T>
HWY_INLINE T floor_divide(T a, T b) {
  const T q = quotient(a, b), r = sub(a, mul(q, b));
  return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(q - 1) : q;
}
template <Integer T>
HWY_INLINE T gcd(T a, T b) {
  while (b != 0) {
    const T r = modulo(a, b);
    a = b;
    b = r;
  }
  return a < 0 ? neg(a) : a;
}
template <Integer T>
HWY_INLINE T lcm(T a, T b) {
  using Int = std::conditional_t<(sizeof(T) < 4), int32_t, T>;  // as torch: the product of narrow types wraps last
  const T g = gcd(a, b);
  const Int r = g == 0 ? Int(0) : mul(static_cast<Int>(quotient(a, g)), static_cast<Int>(b));
  return static_cast<T>(r < 0 ? neg(r) : r);
}
/// By squaring, wrapping. Negative exponents: 0, but exact for 1 and -1.
template <Integer T>
HWY_INLINE T integer_power(T base, T exponent) {
  if constexpr (SignedInteger<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == T(-1)) return exponent & 1 ? T(-1) : T(1);
      return 0;
    }
  }
  T result = 1;
  for (; exponent != 0; exponent = static_cast<T>(exponent >> 1)) {
    if (exponent & 1) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}
template <Integer T>
HWY_INLINE T shift_left(T a, T b) {
  constexpr int bits = static_cast<int>(8 * sizeof(T));
  return b < 0 || b >= T(bits) ? T(0) : static_cast<T>(static_cast<Wide<T>>(a) << b);
}
template <Integer T>
HWY_INLINE T shift_right(T a, T b) {
  constexpr int bits = static_cast<int>(8 * sizeof(T));
  if (b < 0 || b >= T(bits)) return a < 0 ? T(-1) : T(0);
  return static_cast<T>(a >> b);
}

template <class T>
HWY_INLINE bool is_infinite(T x) {
  if constexpr (Complex<T>)
    return is_infinite(x.real()) | is_infinite(x.imag());
  else if constexpr (Real<T>)
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  else
    return false;
}

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
/// Products of complex numbers whose real and imaginary parts alternate in the packs.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> swap_parts(hn::Vec<hn::ScalableTag<float>> v) { return hn::Shuffle2301(v); }
HWY_INLINE hn::Vec<hn::ScalableTag<double>> swap_parts(hn::Vec<hn::ScalableTag<double>> v) { return hn::Shuffle01(v); }
template <class T>
HWY_INLINE Pack<T> mul_alternating(Pack<T> a, Pack<T> b) {
  const auto cross = hn::Mul(swap_parts(a.v), hn::DupOdd(b.v));
  return hn::MulAdd(a.v, hn::DupEven(b.v), hn::OddEven(cross, hn::Neg(cross)));
}
#else
template <class P>
P mul_alternating(P a, P b);  // named by functors, never called
#endif

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
