// One row of layer or RMS normalisation, forward and backward.
#include <cmath>

#include "backends/cpu/norm/layer_norm.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/layer_norm_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/load.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

template <class V>
HWY_INLINE auto sum_of_four(const V* sums) {
  return sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3])));
}
template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  return V(hn::MulAdd(a.v, b.v, c.v));
}

template <class T, bool kCentred>
HWY_INLINE void statistics(const T* x, int64_t n, Wide<T> eps, Wide<T>& mean, Wide<T>& rstd) {
  using W = Wide<T>;
  using V = Pack<W>;
  mean = 0;
  if constexpr (kCentred) {
    V sums[4] = {V(0), V(0), V(0), V(0)};
    for_vectors(n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY { sums[j] = sums[j] + at.load(x, W(0)); });
    mean = sum_of_four(sums) / static_cast<W>(n);
  }
  const V centre(mean);
  V squares[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
    const V d = at.load(x, mean) - centre;
    squares[j] = mul_add(d, d, squares[j]);
  });
  rstd = 1 / std::sqrt(sum_of_four(squares) / static_cast<W>(n) + eps);
}

template <class T, bool kCentred>
void forward(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T* x = static_cast<const T*>(line.in[0]);
  const W *weight = static_cast<const W*>(line.in[1]), *bias = static_cast<const W*>(line.in[2]);
  T* y = static_cast<T*>(line.out[0]);
  W mean, rstd;
  statistics<T, kCentred>(x, line.n, static_cast<W>(line.params[0]), mean, rstd);
  *static_cast<W*>(line.out[1]) = mean;
  *static_cast<W*>(line.out[2]) = rstd;
  const V centre(mean), scale(rstd);
  if (weight && bias)
    for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      const V normal = (at.load(x, W(0)) - centre) * scale;
      at.store(mul_add(normal, at.load(weight, W(0)), at.load(bias, W(0))), y);
    });
  else if (weight)
    for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store((at.load(x, W(0)) - centre) * scale * at.load(weight, W(0)), y);
    });
  else
    for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store((at.load(x, W(0)) - centre) * scale + (bias ? at.load(bias, W(0)) : V(0)), y);
    });
}

/// With g = dy w and h = (x - mean) rstd: dx = rstd (g - mean(g) - h mean(g h)).
template <class T, bool kCentred, bool kAffine>
HWY_INLINE void backward_row(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T *dy = static_cast<const T*>(line.in[0]), *x = static_cast<const T*>(line.in[1]);
  const W mean = kCentred ? *static_cast<const W*>(line.in[2]) : 0, rstd = *static_cast<const W*>(line.in[3]);
  const W* weight = static_cast<const W*>(line.in[4]);
  T* dx = static_cast<T*>(line.out[0]);
  W *dweight = static_cast<W*>(line.out[1]), *dbias = static_cast<W*>(line.out[2]);
  const V centre(mean), scale(rstd);
  V sums[4] = {V(0), V(0), V(0), V(0)}, products[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(line.n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
    const V u = at.load(dy, W(0)), h = (at.load(x, mean) - centre) * scale;
    V g = u;
    if constexpr (kAffine) {
      g = u * at.load(weight, W(0));
      at.store(mul_add(u, h, at.load(dweight, W(0))), dweight);
      if (dbias) at.store(at.load(dbias, W(0)) + u, dbias);
    }
    if constexpr (kCentred) sums[j] = sums[j] + g;
    products[j] = mul_add(g, h, products[j]);
  });
  const W n = static_cast<W>(line.n);
  const V a(kCentred ? sum_of_four(sums) / n : W(0)), b(sum_of_four(products) / n);
  for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    const V h = (at.load(x, W(0)) - centre) * scale;
    V g = at.load(dy, W(0));
    if constexpr (kAffine) g = g * at.load(weight, W(0));
    at.store((g - a - h * b) * scale, dx);
  });
}

template <class T, bool kCentred>
void backward(const Line& line) {
  if (line.in[4])
    backward_row<T, kCentred, true>(line);
  else
    backward_row<T, kCentred, false>(line);
}

template <class T>
LayerNormRows rows_for(bool centred) {
  if (centred) return {&forward<T, true>, &backward<T, true>};
  return {&forward<T, false>, &backward<T, false>};
}

LayerNormRows find_norm_rows(DType d, bool centred) {
  switch (d) {
    case DType::F16: return rows_for<Half>(centred);
    case DType::BF16: return rows_for<BFloat16>(centred);
    case DType::F32: return rows_for<float>(centred);
    case DType::F64: return rows_for<double>(centred);
    default: return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_norm_rows);
LayerNormRows find_layer_norm_rows(DType d, bool centred) { return HWY_DYNAMIC_DISPATCH(find_norm_rows)(d, centred); }
}  // namespace hw
#endif
