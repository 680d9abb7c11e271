// Loops over the optimiser formulas, one copy for each instruction set; the compiler vectorises them.
#include "backends/cpu/optim/rows.h"

#include "kernels/optim/formulas.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/optim/rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

template <class T, class F>
static void step_rows(const Attrs& attrs, void* param, const void* grad, void* const* states, int64_t n) {
  const F f(attrs);
  T* __restrict p = static_cast<T*>(param);
  const T* __restrict g = static_cast<const T*>(grad);
  T none[3] = {};
  if constexpr (F::kStates == 0) {
    for (int64_t k = 0; k < n; ++k) f(p[k], g[k], none[0], none[1], none[2]);
  } else if constexpr (F::kStates == 1) {
    T* __restrict a = static_cast<T*>(states[0]);
    for (int64_t k = 0; k < n; ++k) f(p[k], g[k], a[k], none[1], none[2]);
  } else if constexpr (F::kStates == 2) {
    T* __restrict a = static_cast<T*>(states[0]);
    T* __restrict b = static_cast<T*>(states[1]);
    for (int64_t k = 0; k < n; ++k) f(p[k], g[k], a[k], b[k], none[2]);
  } else {
    T* __restrict a = static_cast<T*>(states[0]);
    T* __restrict b = static_cast<T*>(states[1]);
    T* __restrict c = static_cast<T*>(states[2]);
    for (int64_t k = 0; k < n; ++k) f(p[k], g[k], a[k], b[k], c[k]);
  }
}

template <class T>
static StepRowsFn pick(const KernelRequest& r) {
  StepRowsFn found = nullptr;
  optim::with_formula<T>(r, [&]<class F>(F*) { found = &step_rows<T, F>; });
  return found;
}
static StepRowsFn step_rows_of(const KernelRequest& r, DType compute) {
  return compute == DType::F64 ? pick<double>(r) : pick<float>(r);
}

/// Sixteen partial sums, so that the loop vectorises; blocks are summed in float64.
template <class T>
static double sum_of_squares(const T* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  T lanes[kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] += x[k + j] * x[k + j];
  double sum = 0;
  for (T lane : lanes) sum += static_cast<double>(lane);
  for (; k < n; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  return sum;
}

template <class T>
static void lamb_moments(const Attrs& attrs, const void* param, const void* grad, void* mean, void* square, int64_t n,
                         double* norms) {
  const optim::LambFormula<T> f(attrs);
  const T* __restrict p = static_cast<const T*>(param);
  const T* __restrict g = static_cast<const T*>(grad);
  T* __restrict a = static_cast<T*>(mean);
  T* __restrict b = static_cast<T*>(square);
  constexpr int64_t kBlock = 1024;
  alignas(64) T u[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    for (int64_t k = begin; k < end; ++k) {
      f.moments(g[k], a[k], b[k]);
      u[k - begin] = f.direction(p[k], a[k], b[k]);
    }
    norms[0] += sum_of_squares(p + begin, end - begin);
    norms[1] += sum_of_squares(u, end - begin);
  }
}
static LambMomentsFn lamb_moments_of(DType compute) {
  return compute == DType::F64 ? &lamb_moments<double> : &lamb_moments<float>;
}

template <class T>
static void lamb_apply(const Attrs& attrs, void* param, const void* mean, const void* square, int64_t n, double rate) {
  const optim::LambFormula<T> f(attrs);
  T* __restrict p = static_cast<T*>(param);
  const T* __restrict a = static_cast<const T*>(mean);
  const T* __restrict b = static_cast<const T*>(square);
  const T r = static_cast<T>(rate);
  for (int64_t k = 0; k < n; ++k) p[k] -= r * f.direction(p[k], a[k], b[k]);
}
static LambApplyFn lamb_apply_of(DType compute) {
  return compute == DType::F64 ? &lamb_apply<double> : &lamb_apply<float>;
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(step_rows_of);
HWY_EXPORT(lamb_moments_of);
HWY_EXPORT(lamb_apply_of);
StepRowsFn find_step_rows(const KernelRequest& r, DType compute) {
  return HWY_DYNAMIC_DISPATCH(step_rows_of)(r, compute);
}
LambMomentsFn find_lamb_moments(DType compute) { return HWY_DYNAMIC_DISPATCH(lamb_moments_of)(compute); }
LambApplyFn find_lamb_apply(DType compute) { return HWY_DYNAMIC_DISPATCH(lamb_apply_of)(compute); }
}  // namespace hw
#endif
