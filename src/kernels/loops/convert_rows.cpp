// Contiguous conversions per instruction set: 16-bit floats by SIMD, the other common pairs by auto-vectorisation.
#include "kernels/loops/convert.h"
#include "kernels/loops/convert_value.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/loops/convert_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class From, class To>
static void rows(const void* src, void* dst, int64_t n) {
  const From* __restrict s = static_cast<const From*>(src);
  To* __restrict d = static_cast<To*>(dst);
  for (int64_t k = 0; k < n; ++k) d[k] = convert_value<To>(s[k]);
}

#if HWY_TARGET != HWY_SCALAR
static void f32_to_bf16(const void* src, void* dst, int64_t n) {
  const hn::ScalableTag<uint32_t> du;
  const hn::Rebind<uint16_t, decltype(du)> dh;
  const uint32_t* s = static_cast<const uint32_t*>(src);
  uint16_t* d = static_cast<uint16_t*>(dst);
  const int64_t step = static_cast<int64_t>(hn::Lanes(du));
  const auto one = hn::Set(du, 1u), bias = hn::Set(du, 0x7fffu), inf = hn::Set(du, 0x7f800000u);
  int64_t k = 0;
  for (; k + step <= n; k += step) {
    const auto u = hn::LoadU(du, s + k);
    const auto high = hn::ShiftRight<16>(u);
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(u, bias), hn::And(high, one)));
    const auto nan = hn::Gt(hn::And(u, hn::Set(du, 0x7fffffffu)), inf);
    const auto quiet = hn::Or(high, hn::Set(du, 0x40u));
    hn::StoreU(hn::TruncateTo(dh, hn::IfThenElse(nan, quiet, rounded)), dh, d + k);
  }
  rows<float, BFloat16>(s + k, d + k, n - k);
}

static void bf16_to_f32(const void* src, void* dst, int64_t n) {
  const hn::ScalableTag<uint32_t> du;
  const hn::Rebind<uint16_t, decltype(du)> dh;
  const uint16_t* s = static_cast<const uint16_t*>(src);
  uint32_t* d = static_cast<uint32_t*>(dst);
  const int64_t step = static_cast<int64_t>(hn::Lanes(du));
  int64_t k = 0;
  for (; k + step <= n; k += step) hn::StoreU(hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, s + k))), du, d + k);
  rows<BFloat16, float>(s + k, d + k, n - k);
}

// Shuffled: of every two vectors of f32 the first holds the even elements of a vector of bf16, the second the odd ones.
static void bf16_to_shuffled(const void* src, void* dst, int64_t n) {
  const hn::ScalableTag<uint32_t> du;
  const hn::Repartition<uint16_t, decltype(du)> dh;
  const uint16_t* s = static_cast<const uint16_t*>(src);
  uint32_t* d = static_cast<uint32_t*>(dst);
  const int64_t half = static_cast<int64_t>(hn::Lanes(du));
  const auto upper = hn::Set(du, 0xffff0000u);
  int64_t k = 0;
  for (; k + 2 * half <= n; k += 2 * half) {
    const auto both = hn::BitCast(du, hn::LoadU(dh, s + k));
    hn::StoreU(hn::ShiftLeft<16>(both), du, d + k);
    hn::StoreU(hn::And(both, upper), du, d + k + half);
  }
  bf16_to_f32(s + k, d + k, n - k);
}

static void shuffled_to_bf16(const void* src, void* dst, int64_t n) {
  const hn::ScalableTag<uint32_t> du;
  const hn::ScalableTag<float> df;
  const hn::Repartition<uint16_t, decltype(du)> dh;
  const float* s = static_cast<const float*>(src);
  uint16_t* d = static_cast<uint16_t*>(dst);
  const int64_t half = static_cast<int64_t>(hn::Lanes(du));
  const auto one = hn::Set(du, 1u), bias = hn::Set(du, 0x7fffu), upper = hn::Set(du, 0xffff0000u);
  auto rounded = [&](const float* p) HWY_ATTR {
    const auto f = hn::LoadU(df, p);
    const auto u = hn::BitCast(du, f), up = hn::Add(bias, hn::And(hn::ShiftRight<16>(u), one));
    return hn::Add(u, hn::IfThenElseZero(hn::RebindMask(du, hn::Eq(f, f)), up));
  };
  int64_t k = 0;
  for (; k + 2 * half <= n; k += 2 * half) {
    const auto even = hn::ShiftRight<16>(rounded(s + k)), odd = hn::And(rounded(s + k + half), upper);
    hn::StoreU(hn::BitCast(dh, hn::Or(even, odd)), dh, d + k);
  }
  f32_to_bf16(s + k, d + k, n - k);
}

static void f32_to_f16(const void* src, void* dst, int64_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const float* s = static_cast<const float*>(src);
  hwy::float16_t* d = static_cast<hwy::float16_t*>(dst);
  const int64_t step = static_cast<int64_t>(hn::Lanes(df));
  int64_t k = 0;
  for (; k + step <= n; k += step) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, s + k)), dh, d + k);
  rows<float, Half>(s + k, d + k, n - k);
}

static void f16_to_f32(const void* src, void* dst, int64_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const hwy::float16_t* s = static_cast<const hwy::float16_t*>(src);
  float* d = static_cast<float*>(dst);
  const int64_t step = static_cast<int64_t>(hn::Lanes(df));
  int64_t k = 0;
  for (; k + step <= n; k += step) hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, s + k)), df, d + k);
  rows<Half, float>(s + k, d + k, n - k);
}
#else
constexpr ConvertRowFn f32_to_bf16 = &rows<float, BFloat16>, bf16_to_f32 = &rows<BFloat16, float>;
constexpr ConvertRowFn shuffled_to_bf16 = f32_to_bf16, bf16_to_shuffled = bf16_to_f32;
constexpr ConvertRowFn f32_to_f16 = &rows<float, Half>, f16_to_f32 = &rows<Half, float>;
#endif

template <class From>
static ConvertRowFn to(DType d) {
  switch (d) {
    case DType::Bool: return &rows<From, bool>;
    case DType::U8: return &rows<From, uint8_t>;
    case DType::I32: return &rows<From, int32_t>;
    case DType::I64: return &rows<From, int64_t>;
    case DType::F32: return &rows<From, float>;
    case DType::F64: return &rows<From, double>;
    default: return nullptr;
  }
}

ConvertRowFn find_row(DType from, DType into) {
  if (from == into) return nullptr;
  if (from == DType::F32 && into == DType::BF16) return f32_to_bf16;
  if (from == DType::F32 && into == DType::F16) return f32_to_f16;
  if (from == DType::BF16) return into == DType::F32 ? ConvertRowFn(bf16_to_f32) : nullptr;
  if (from == DType::F16) return into == DType::F32 ? ConvertRowFn(f16_to_f32) : nullptr;
  switch (from) {
    case DType::Bool: return into == DType::U8 ? nullptr : to<uint8_t>(into);  // the bytes are 0 and 1
    case DType::U8: return to<uint8_t>(into);
    case DType::I32: return to<int32_t>(into);
    case DType::I64: return to<int64_t>(into);
    case DType::F32: return to<float>(into);
    case DType::F64: return to<double>(into);
    default: return nullptr;
  }
}

ConvertRowFn find_shuffled(DType from, DType into) {
  if (from == DType::BF16 && into == DType::F32) return bf16_to_shuffled;
  return from == DType::F32 && into == DType::BF16 ? ConvertRowFn(shuffled_to_bf16) : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_row);
HWY_EXPORT(find_shuffled);
ConvertRowFn find_convert_shuffled(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_shuffled)(from, to); }
ConvertRowFn find_convert_row(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_row)(from, to); }
}  // namespace hw
#endif
