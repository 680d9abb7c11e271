// One row of _class_max, _class_sums and _class_sums_grad. The target's element is left out of the vectors.
#include <limits>

#include "backends/cpu/loss/cross_entropy.h"
#include "kernels/loss/class_scores.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/loss/class_scores_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/exp_row.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

template <class W>
inline W per_line(const Line& line, size_t i) {
  return *static_cast<const W*>(line.in[i]);
}

/// The sum of exp(scale x - shift).
template <class T>
HWY_INLINE Wide<T> sum_scaled(const T* x, int64_t n, Wide<T> scale, Wide<T> shift) {
  using W = Wide<T>;
  using V = Pack<W>;
  const V s(scale), top(shift);
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
    sums[j] = sums[j] + exp_nonpositive(at.load(x, -std::numeric_limits<W>::infinity()) * s - top);
  });
  return sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

template <class T>
void class_max(const Line& line) {
  using W = Wide<T>;
  const ClassScores scores(line.params);
  const T* x = static_cast<const T*>(line.in[0]);
  const int64_t t = scores.place(line), before = t < 0 ? line.n : t;
  const W scale = static_cast<W>(scores.scale);
  W top = scale * row_max(x, before);
  if (t >= 0) {
    const W after = scale * row_max(x + t + 1, line.n - t - 1), target = W(scores.target(static_cast<W>(x[t])));
    top = top > after ? top : after;
    top = top > target ? top : target;
  }
  *static_cast<W*>(line.out[0]) = top;
}

template <class T>
void class_sums(const Line& line) {
  using W = Wide<T>;
  const ClassScores scores(line.params);
  const T* x = static_cast<const T*>(line.in[0]);
  const int64_t t = scores.place(line);
  const W shift = per_line<W>(line, 2), scale = static_cast<W>(scores.scale);
  W sum = sum_scaled(x, t < 0 ? line.n : t, scale, shift), target = 0;
  if (t >= 0) {
    target = W(scores.target(static_cast<W>(x[t])));
    sum += sum_scaled(x + t + 1, line.n - t - 1, scale, shift) + std::exp(target - shift);
  }
  *static_cast<W*>(line.out[0]) = sum;
  *static_cast<W*>(line.out[1]) = target;
}

template <class T>
void class_sums_grad(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const ClassScores scores(line.params);
  const T* x = static_cast<const T*>(line.in[0]);
  T* dx = static_cast<T*>(line.out[0]);
  const int64_t t = scores.place(line);
  const W before = t < 0 ? W(0) : static_cast<W>(x[t]);  // dx may be x
  const W shift = per_line<W>(line, 2), dsum = per_line<W>(line, 3);
  const V scale(static_cast<W>(scores.scale)), top(shift), factor(dsum * static_cast<W>(scores.scale));
  for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    at.store(exp_nonpositive(at.load(x, W(0)) * scale - top) * factor, dx);
  });
  if (t >= 0)
    dx[t] = T((dsum * std::exp(W(scores.target(before)) - shift) + per_line<W>(line, 4)) * W(scores.slope(before)));
}

template <class T>
LineFn row_for(std::string_view op) {
  return op == "_class_max" ? &class_max<T> : op == "_class_sums" ? &class_sums<T> : &class_sums_grad<T>;
}

LineFn find_class_row(std::string_view op, DType d) {
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
HWY_EXPORT(find_class_row);
LineFn find_class_scores_row(std::string_view op, DType d) { return HWY_DYNAMIC_DISPATCH(find_class_row)(op, d); }
}  // namespace hw
#endif
