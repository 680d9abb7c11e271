// One run of elements with one scale: quantised, dequantised, or both in turn.
#include "backends/cpu/quantization/rows.h"

#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/quantization/rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using F = hn::Vec<Floats>;

struct Constants {
  F scale, zero, low, high;
  HWY_INLINE explicit Constants(const Steps& s)
      : scale(hn::Set(Floats(), s.scale)),
        zero(hn::Set(Floats(), s.zero)),
        low(hn::Set(Floats(), s.low)),
        high(hn::Set(Floats(), s.high)) {}
  /// round(x / scale) within the range; NaN gives 0.
  HWY_INLINE F steps(F x) const {
    const F r = hn::Round(hn::Div(x, scale));
    return hn::Min(hn::Max(hn::IfThenElseZero(hn::Eq(r, r), r), low), high);
  }
};

/// vector(x, y) on whole vectors; the elements left go through a buffer of one vector.
template <class From, class To, class Vector>
HWY_INLINE void run(const void* from, void* to, int64_t n, Vector vector) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(x + i, y + i);
  if (i == n) return;
  HWY_ALIGN From x_rest[hn::MaxLanes(Floats())] = {};
  HWY_ALIGN To y_rest[hn::MaxLanes(Floats())];
  for (int64_t k = i; k < n; ++k) x_rest[k - i] = x[k];
  vector(x_rest, y_rest);
  for (int64_t k = i; k < n; ++k) y[k] = y_rest[k - i];
}

template <class T>
void quantize(const void* x, void* y, int64_t n, const Steps& s) {
  const Constants c(s);
  run<float, T>(x, y, n, [&](const float* from, T* to) HWY_ATTR {
    const auto integers = hn::NearestInt(hn::Add(c.steps(hn::LoadU(Floats(), from)), c.zero));
    const hn::Rebind<T, Floats> narrow;
    hn::StoreU(hn::DemoteTo(narrow, integers), narrow, to);
  });
}

template <class T>
void dequantize(const void* x, void* y, int64_t n, const Steps& s) {
  const Constants c(s);
  const hn::RebindToSigned<Floats> wide;
  const auto zero = hn::NearestInt(c.zero);
  run<T, float>(x, y, n, [&](const T* from, float* to) HWY_ATTR {
    const hn::Rebind<T, Floats> narrow;
    const auto integers = hn::Sub(hn::PromoteTo(wide, hn::LoadU(narrow, from)), zero);
    hn::StoreU(hn::Mul(hn::ConvertTo(Floats(), integers), c.scale), Floats(), to);
  });
}

void dequantize_i32(const void* x, void* y, int64_t n, const Steps& s) {
  const Constants c(s);
  run<int32_t, float>(x, y, n, [&](const int32_t* from, float* to) HWY_ATTR {
    const auto integers = hn::LoadU(hn::RebindToSigned<Floats>(), from);
    hn::StoreU(hn::Mul(hn::ConvertTo(Floats(), integers), c.scale), Floats(), to);
  });
}

void fake(const void* x, void* y, int64_t n, const Steps& s) {
  const Constants c(s);
  run<float, float>(x, y, n, [&](const float* from, float* to) HWY_ATTR {
    const F v = hn::LoadU(Floats(), from);
    hn::StoreU(hn::IfThenElse(hn::Eq(v, v), hn::Mul(c.steps(v), c.scale), v), Floats(), to);
  });
}

QuantizeRows quantize_rows() {
  return {&quantize<uint8_t>, &quantize<int8_t>, &dequantize<uint8_t>, &dequantize<int8_t>, &dequantize_i32, &fake};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(quantize_rows);
QuantizeRows find_quantize_rows() { return HWY_DYNAMIC_DISPATCH(quantize_rows)(); }
}  // namespace hw
#endif
