// What the softmax family shares: the greatest element of a row, and sums of exponentials below it.
// Included once per instruction set (Highway's scheme): everything lives in hw::HWY_NAMESPACE.
#include <cmath>
#include <limits>

#include "kernels/simd/load.h"
#include "kernels/simd/math.h"

#if defined(HW_KERNELS_SIMD_EXP_ROW_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_EXP_ROW_H
#undef HW_KERNELS_SIMD_EXP_ROW_H
#else
#define HW_KERNELS_SIMD_EXP_ROW_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

/// exp(x) for x <= 0 (or little above): exact zero where the result would be less than the smallest normal number. NaN stays.
template <class T>
HWY_INLINE Pack<T> exp_nonpositive(Pack<T> x) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  constexpr T kLow = std::is_same_v<T, float> ? T(-87.3) : T(-708.3);
  const Pack<T> low(kLow);
  const Pack<T> p = math::exp_normal(math::at_least(x, low));
  return select(x < low, Pack<T>(T(0)), p);
#else
  return each_lane([](T v) { return std::exp(v); }, x);
#endif
}

/// log(x) for x > 0, infinity or NaN.
template <class T>
HWY_INLINE Pack<T> log_positive(Pack<T> x) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return math::log(x);
#else
  return each_lane([](T v) { return std::log(v); }, x);
#endif
}

/// NaN elements may be passed over.
template <class T>
HWY_INLINE Wide<T> row_max(const T* x, int64_t n) {
  using W = Wide<T>;
  using V = Pack<W>;
  constexpr W kLowest = -std::numeric_limits<W>::infinity();
  V top[4] = {V(kLowest), V(kLowest), V(kLowest), V(kLowest)};
  for_vectors(n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY { top[j] = hn::Max(at.load(x, kLowest).v, top[j].v); });
  return max_lanes(V(hn::Max(hn::Max(top[0].v, top[1].v), hn::Max(top[2].v, top[3].v))));
}

/// The sum of exp(x - top).
template <class T>
HWY_INLINE Wide<T> row_sum_exp(const T* x, int64_t n, Wide<T> top) {
  using W = Wide<T>;
  using V = Pack<W>;
  const V shift(top);
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
    sums[j] = sums[j] + exp_nonpositive(at.load(x, -std::numeric_limits<W>::infinity()) - shift);
  });
  return sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
