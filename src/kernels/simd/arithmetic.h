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

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
