// Formulas over the elementary functions that several functors share, for scalars and packs. Included once per instruction set.
#include "kernels/simd/vector_special.h"
#include "kernels/simd/vector_trig.h"

#if defined(HW_KERNELS_SIMD_FORMULAS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_FORMULAS_H
#undef HW_KERNELS_SIMD_FORMULAS_H
#else
#define HW_KERNELS_SIMD_FORMULAS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace math {

/// Density of the normal distribution; 0 where it is next to the smallest normal number.
template <RealOrVector T>
HWY_INLINE T normal_pdf(T x) {
  constexpr double limit = sizeof(ValueOf<T>) == 4 ? 13 : 37;
  const T density =
      T(0.3989422804014326779399460599343819) * exp_normal(at_least(T(-0.5) * x * x, T(-0.5 * limit * limit)));
  return select(abs(x) > T(limit), T(0), density);
}

constexpr double kGeluScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;
/// The argument of tanh in the tanh form of gelu (Hendrycks and Gimpel, arXiv 1606.08415).
template <RealOrVector T>
HWY_INLINE T gelu_inner(T x) {
  return T(kGeluScale) * (x + T(kGeluCubic) * x * x * x);
}

/// tanh(log(1 + e^x)) = (e^2x + 2 e^x) / (e^2x + 2 e^x + 2), which is 1 beyond x = 20 in either precision.
template <RealOrVector T>
HWY_INLINE T mish_gate(T x) {
  const T e = exp(at_most(x, T(20))), n = e * (e + T(2));
  return n / (n + T(2));
}

/// Remainder with the sign of the divisor, as in Python.
template <RealOrVector T>
HWY_INLINE T remainder(T a, T b) {
  const T r = fmod(a, b);
  const auto differ = ((r < T(0)) & (b > T(0))) | ((r > T(0)) & (b < T(0)));
  return select(differ, r + b, r);
}

/// Floor of the exact quotient: from the remainder, since rounding a / b first may reach the next integer.
template <RealOrVector T>
HWY_INLINE T floor_divide(T a, T b) {
  const T r = fmod(a, b);
  T q = (a - r) / b;
  const auto differ = ((r < T(0)) & (b > T(0))) | ((r > T(0)) & (b < T(0)));
  q = select(differ, q - T(1), q);
  const T down = floor(q);
  const T whole = select(q - down > T(0.5), down + T(1), down);
  const T signed_zero = copysign(T(0), a / b);
  return select(b == T(0), a / b, select(q == T(0), signed_zero, whole));
}

}  // namespace math
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
