// One row of one LSTM step.
#include "backends/cpu/rnn/cells.h"

#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rnn/cells.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/load.h"
#include "kernels/simd/math.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
template <class T>
Pack<T> squash(Pack<T> x) {
  return each_lane([](T v) { return math::tanh(v); }, x);
}
template <class T>
Pack<T> gate(Pack<T> x) {
  return each_lane([](T v) { return math::sigmoid(v); }, x);
}
#else
template <class T>
HWY_INLINE Pack<T> squash(Pack<T> x) {
  return math::tanh(x);
}
template <class T>
HWY_INLINE Pack<T> gate(Pack<T> x) {
  return math::sigmoid(x);
}
#endif

/// c = f c' + i g, h = o tanh(c), the gates being functions of their sums.
template <class T>
void forward(const LstmCell& cell) {
  using V = Pack<T>;
  const int64_t n = cell.hidden;
  T *in = static_cast<T*>(cell.gates), *forget = in + n, *fresh = in + 2 * n, *out = in + 3 * n;
  const T* before = static_cast<const T*>(cell.before);
  T *c = static_cast<T*>(cell.cell), *h = static_cast<T*>(cell.output);
  for_vectors(n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    const V i = gate(at.load(in, T(0))), f = gate(at.load(forget, T(0)));
    const V g = squash(at.load(fresh, T(0))), o = gate(at.load(out, T(0)));
    const V next = f * at.load(before, T(0)) + i * g;
    at.store(i, in), at.store(f, forget), at.store(g, fresh), at.store(o, out);
    at.store(next, c);
    at.store(o * squash(next), h);
  });
}

template <class T>
void backward(const LstmCell& cell) {
  using V = Pack<T>;
  const int64_t n = cell.hidden;
  const T *in = static_cast<const T*>(cell.gates), *forget = in + n, *fresh = in + 2 * n, *out = in + 3 * n;
  const T *before = static_cast<const T*>(cell.before), *c = static_cast<const T*>(cell.cell);
  const T *running = static_cast<const T*>(cell.d_running), *d_output = static_cast<const T*>(cell.d_output),
          *d_cells = static_cast<const T*>(cell.d_cells);
  T *dc = static_cast<T*>(cell.d_cell), *d = static_cast<T*>(cell.d_gates);
  for_vectors(n, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
    const V i = at.load(in, T(0)), f = at.load(forget, T(0)), g = at.load(fresh, T(0)), o = at.load(out, T(0));
    const V squashed = squash(at.load(c, T(0)));
    V to_h = at.load(running, T(0)), to_c = at.load(dc, T(0));
    if (d_output) to_h = to_h + at.load(d_output, T(0));
    if (d_cells) to_c = to_c + at.load(d_cells, T(0));
    const V one(1);
    to_c = to_c + to_h * o * (one - squashed * squashed);
    at.store(to_c * g * i * (one - i), d);
    at.store(to_c * at.load(before, T(0)) * f * (one - f), d + n);
    at.store(to_c * i * (one - g * g), d + 2 * n);
    at.store(to_h * squashed * o * (one - o), d + 3 * n);
    at.store(to_c * f, dc);
  });
}

LstmCellFns find_cell(DType dtype) {
  if (dtype == DType::F64) return {&forward<double>, &backward<double>};
  return {&forward<float>, &backward<float>};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_cell);
LstmCellFns find_lstm_cell(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_cell)(dtype); }
}  // namespace hw
#endif
