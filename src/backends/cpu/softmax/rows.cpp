// One row of softmax, log_softmax and their gradients.
#include <limits>

#include "backends/cpu/softmax/softmax.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/softmax/rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/exp_row.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

template <class T>
void softmax(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  // 16-bit results are kept in f32 until they are divided.
  W* e;
  if constexpr (std::is_same_v<T, W>)
    e = y;
  else
    e = static_cast<W*>(line.scratch);
  const V top(row_max(x, line.n));
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(line.n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY {
    const V p = exp_nonpositive(at.load(x, -std::numeric_limits<W>::infinity()) - top);
    at.store(p, e);
    sums[j] = sums[j] + p;
  });
  const V scale(W(1) / sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3]))));
  for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY { at.store(at.load(e, W(0)) * scale, y); });
}

template <class T>
void log_softmax(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  const W top = row_max(x, line.n);
  const V shift(top), log_sum(std::log(row_sum_exp(x, line.n, top)));
  for_vectors(line.n, V::lanes(),
              [&](auto at, int) HW_VECTOR_BODY { at.store((at.load(x, W(0)) - shift) - log_sum, y); });
}

/// dx = y (dy - sum(dy y))
template <class T>
void softmax_grad(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T *dy = static_cast<const T*>(line.in[0]), *y = static_cast<const T*>(line.in[1]);
  T* dx = static_cast<T*>(line.out[0]);
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(line.n, V::lanes(),
              [&](auto at, int j) HW_VECTOR_BODY { sums[j] = sums[j] + at.load(dy, W(0)) * at.load(y, W(0)); });
  const V sum(sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3]))));
  for_vectors(line.n, V::lanes(),
              [&](auto at, int) HW_VECTOR_BODY { at.store(at.load(y, W(0)) * (at.load(dy, W(0)) - sum), dx); });
}

/// dx = dy - exp(y) sum(dy)
template <class T>
void log_softmax_grad(const Line& line) {
  using W = Wide<T>;
  using V = Pack<W>;
  const T *dy = static_cast<const T*>(line.in[0]), *y = static_cast<const T*>(line.in[1]);
  T* dx = static_cast<T*>(line.out[0]);
  V sums[4] = {V(0), V(0), V(0), V(0)};
  for_vectors(line.n, V::lanes(), [&](auto at, int j) HW_VECTOR_BODY { sums[j] = sums[j] + at.load(dy, W(0)); });
  const V sum(sum_lanes(V((sums[0] + sums[1]) + (sums[2] + sums[3]))));
  for_vectors(line.n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    at.store(at.load(dy, W(0)) - exp_nonpositive(at.load(y, W(0))) * sum, dx);
  });
}

template <class T>
LineFn row_for(std::string_view op) {
  if (op == "softmax") return &softmax<T>;
  if (op == "log_softmax") return &log_softmax<T>;
  if (op == "_softmax_grad") return &softmax_grad<T>;
  if (op == "_log_softmax_grad") return &log_softmax_grad<T>;
  return nullptr;
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

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_row_function);
LineFn find_softmax_row(std::string_view op, DType d) { return HWY_DYNAMIC_DISPATCH(find_row_function)(op, d); }
}  // namespace hw
#endif
