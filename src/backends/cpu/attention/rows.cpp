// Row operations of attention in vectors.
#include "backends/cpu/attention/rows.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/rows.cpp"
#include "backends/cpu/gemm/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/exp_row.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

template <class T>
T exponentials(T* s, int64_t n, T& top) {
  using V = Pack<T>;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  T largest = row_max(s, n);
  if (largest > top) top = largest;
  const V shift(top == kLowest ? T(0) : top);  // all masked so far: exp(-inf) is 0
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
    const V p = exp_nonpositive(at.load(s, kLowest) - shift);
    at.store(p, s);
    sums[j] = sums[j] + p;
  });
  return sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

template <class T>
void scale(T* x, int64_t n, T factor) {
  using V = Pack<T>;
  const V f(factor);
  for_vectors(n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY { at.store(at.load(x, T(0)) * f, x); });
}

template <class T>
void gradient(T* p, T* ds, int64_t n, T lse, T mean) {
  using V = Pack<T>;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const V shift(lse == kLowest ? std::numeric_limits<T>::infinity() : lse), middle(mean);
  for_vectors(n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    const V e = exp_nonpositive(at.load(p, kLowest) - shift);
    at.store(e, p);
    at.store(e * (at.load(ds, T(0)) - middle), ds);
  });
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  using V = Pack<T>;
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(n, V::lanes(),
              [&](auto at, int j) HW_VECTOR_BODY { sums[j] = sums[j] + at.load(a, T(0)) * at.load(b, T(0)); });
  return sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

AttentionRows<float> rows_f32() { return {exponentials<float>, scale<float>, gradient<float>, dot<float>}; }
AttentionRows<double> rows_f64() { return {exponentials<double>, scale<double>, gradient<double>, dot<double>}; }

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
AttentionRows<float> attention_rows(float) { return HW_BEST_TARGET(rows_f32)(); }
AttentionRows<double> attention_rows(double) { return HW_BEST_TARGET(rows_f64)(); }
}  // namespace hw
#endif
