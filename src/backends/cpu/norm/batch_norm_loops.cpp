// Batch normalisation of one channel, forward and backward. Three passes over the channel, which mostly stays in the second-level
// cache: mean, variance about the mean, result.
#include <cmath>

#include "backends/cpu/norm/batch_norm.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/batch_norm_loops.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/load.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

template <class W>
HWY_INLINE W total(const Pack<W>* sums) {
  return sum_lanes(Pack<W>((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

/// The sum over all runs of body(run, sums), each run summed in vectors and the runs in double.
template <class W, class Body>
HWY_INLINE double sum_runs(const Channel& c, Body body) {
  double sum = 0;
  for (int64_t i = 0; i < c.count; ++i) {
    Pack<W> sums[4] = {Pack<W>(0), Pack<W>(0), Pack<W>(0), Pack<W>(0)};
    body(i * c.step, sums);
    sum += static_cast<double>(total(sums));
  }
  return sum;
}

template <class T>
void forward(const Channel& c) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T* x = static_cast<const T*>(c.x);
  T* y = static_cast<T*>(c.y);
  const double n = static_cast<double>(c.count * c.length);
  const double mean = sum_runs<W>(c,
                                  [&](int64_t at0, V* sums) HW_VECTOR_BODY {
                                    for_vectors(c.length, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
                                      sums[j] = sums[j] + at.load(x + at0, W(0));
                                    });
                                  }) /
                      n;
  const W m = static_cast<W>(mean);
  const V middle(m);
  const double variance = sum_runs<W>(c,
                                      [&](int64_t at0, V* sums) HW_VECTOR_BODY {
                                        for_vectors(c.length, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
                                          const V d = at.load(x + at0, m) - middle;
                                          sums[j] = sums[j] + d * d;
                                        });
                                      }) /
                          n;
  const W rstd = static_cast<W>(1 / std::sqrt(variance + c.eps));
  *static_cast<W*>(c.mean) = m;
  *static_cast<W*>(c.rstd) = rstd;
  const V scale(rstd * (c.weight ? *static_cast<const W*>(c.weight) : W(1)));
  const V shift(c.bias ? *static_cast<const W*>(c.bias) : W(0));
  for (int64_t i = 0; i < c.count; ++i)
    for_vectors(c.length, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store((at.load(x + i * c.step, W(0)) - middle) * scale + shift, y + i * c.step);
    });
}

/// dx = w rstd (dy - mean(dy) - h mean(dy h)), h = (x - mean) rstd.
template <class T>
void backward(const Channel& c) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T *x = static_cast<const T*>(c.x), *dy = static_cast<const T*>(c.dy);
  T* dx = static_cast<T*>(c.dx);
  const W m = *static_cast<const W*>(c.mean), rstd = *static_cast<const W*>(c.rstd);
  const V middle(m);
  double sum = 0, product = 0;
  for (int64_t i = 0; i < c.count; ++i) {
    V sums[4] = {V(0), V(0), V(0), V(0)}, products[4] = {V(0), V(0), V(0), V(0)};
    for_vectors(c.length, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
      const V g = at.load(dy + i * c.dy_step, W(0));
      sums[j] = sums[j] + g;
      products[j] = products[j] + g * (at.load(x + i * c.step, m) - middle);
    });
    sum += static_cast<double>(total(sums));
    product += static_cast<double>(total(products));
  }
  *static_cast<W*>(c.dbias) = static_cast<W>(sum);
  *static_cast<W*>(c.dweight) = static_cast<W>(product * static_cast<double>(rstd));
  const double n = static_cast<double>(c.count * c.length), r = static_cast<double>(rstd);
  const V scale(rstd * (c.weight ? *static_cast<const W*>(c.weight) : W(1)));
  const V average(static_cast<W>(sum / n)), slope(static_cast<W>(product * r * r / n));
  for (int64_t i = 0; i < c.count; ++i)
    for_vectors(c.length, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      const V d = at.load(x + i * c.step, W(0)) - middle;
      at.store((at.load(dy + i * c.dy_step, W(0)) - average - d * slope) * scale, dx + i * c.step);
    });
}

template <class T>
BatchNormLoops loops() {
  return {&forward<T>, &backward<T>};
}

BatchNormLoops batch_norm_loops(DType d) {
  switch (d) {
    case DType::F16: return loops<Half>();
    case DType::BF16: return loops<BFloat16>();
    case DType::F32: return loops<float>();
    case DType::F64: return loops<double>();
    default: return {};
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(batch_norm_loops);
BatchNormLoops find_batch_norm(DType d) { return HWY_DYNAMIC_DISPATCH(batch_norm_loops)(d); }
}  // namespace hw
#endif
