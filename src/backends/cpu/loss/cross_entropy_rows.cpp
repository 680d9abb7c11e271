// One row of cross-entropy and of its gradient.
#include <limits>

#include "backends/cpu/loss/cross_entropy.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/loss/cross_entropy_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/exp_row.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

/// The class of the row; -1 where it is ignored or wrong (reported).
inline int64_t row_class(const Line& line) {
  const int64_t t = *static_cast<const int64_t*>(line.in[1]);
  if (t == static_cast<int64_t>(line.params[0])) return -1;
  if (t >= 0 && t < line.n) return t;
  line.status->report("target %ld is out of range for %ld classes", static_cast<long>(t), static_cast<long>(line.n));
  return -1;
}

/// loss = lse(x) - (1 - s) x[t] - s mean(x), s being the label smoothing.
template <class T>
void cross_entropy(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T* x = static_cast<const T*>(line.in[0]);
  const W top = row_max(x, line.n);
  const W lse = top + std::log(row_sum_exp(x, line.n, top));
  const int64_t t = row_class(line);
  W loss = 0;
  if (t >= 0) {
    const W smoothing = static_cast<W>(line.params[1]);
    loss = lse - (W(1) - smoothing) * static_cast<W>(x[t]);
    if (smoothing > 0) {
      V sums[4] = {V(0), V(0), V(0), V(0)};
      for_vectors(line.n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY { sums[j] = sums[j] + at.load(x, W(0)); });
      loss -= smoothing * sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3]))) / static_cast<W>(line.n);
    }
  }
  *static_cast<W*>(line.out[0]) = loss;
  *static_cast<W*>(line.out[1]) = lse;
}

/// dx = dy (softmax(x) - s / n - (1 - s) [k = t])
template <class T>
void cross_entropy_grad(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T* x = static_cast<const T*>(line.in[0]);
  T* dx = static_cast<T*>(line.out[0]);
  const int64_t t = row_class(line);
  const W smoothing = static_cast<W>(line.params[1]);
  const W dy = t < 0 ? W(0) : *static_cast<const W*>(line.in[3]);
  const V lse(*static_cast<const W*>(line.in[2])), scale(dy), shift(dy * smoothing / static_cast<W>(line.n));
  const W before = t < 0 ? W(0) : static_cast<W>(x[t]);
  for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    at.store(exp_nonpositive(at.load(x, W(0)) - lse) * scale - shift, dx);
  });
  if (t < 0) {  // 0 times infinity must not leave NaN in a row that does not count
    for (int64_t k = 0; k < line.n; ++k) dx[k] = T(W(0));
    return;
  }
  const W p = std::exp(before - *static_cast<const W*>(line.in[2]));
  dx[t] = T(dy * (p - (W(1) - smoothing) - smoothing / static_cast<W>(line.n)));
}

template <class T>
LineFn row_for(std::string_view op) {
  return op == "_cross_entropy" ? &cross_entropy<T> : &cross_entropy_grad<T>;
}

LineFn find_row_function(std::string_view op, DType d) {
  switch (d) {
    case DType::F16: return row_for<Half>(op);
    case DType::BF16: return row_for<BFloat16>(op);
    case DType::F32: return row_for<float>(op);
    case DType::F64: return row_for<double>(op);
    default: return nullptr;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_row_function);
LineFn find_cross_entropy_row(std::string_view op, DType d) { return HWY_DYNAMIC_DISPATCH(find_row_function)(op, d); }
}  // namespace hw
#endif
