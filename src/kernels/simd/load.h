// Vectors of f32 or f64 from memory of any floating dtype, and back: 16-bit floats are widened and rounded on the way.
// Included once per instruction set (Highway's scheme): everything lives in hw::HWY_NAMESPACE.
#include <cstring>

#include "core/half.h"
#include "kernels/simd/pack.h"

#if defined(HW_KERNELS_SIMD_LOAD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_LOAD_H
#undef HW_KERNELS_SIMD_LOAD_H
#else
#define HW_KERNELS_SIMD_LOAD_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

/// The type that T is computed in.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T>
using WidePack = Pack<Wide<T>>;

template <class T>
HWY_INLINE WidePack<T> load_wide(const T* p) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> df;
  if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::ScalableTag<uint32_t> du;
    const hn::Rebind<uint16_t, decltype(du)> dh;
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, reinterpret_cast<const uint16_t*>(p)))));
  } else if constexpr (std::is_same_v<T, Half>) {
    const hn::Rebind<hwy::float16_t, decltype(df)> dh;
    return hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(p)));
  } else {
    return Pack<T>::load(p);
  }
#else
  return WidePack<T>(static_cast<Wide<T>>(*p));
#endif
}

template <class T>
HWY_INLINE void store_wide(WidePack<T> x, T* p) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::ScalableTag<uint32_t> du;
    const hn::Rebind<uint16_t, decltype(du)> dh;
    const auto u = hn::BitCast(du, x.v), high = hn::ShiftRight<16>(u);
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(u, hn::Set(du, 0x7fffu)), hn::And(high, hn::Set(du, 1u))));
    const auto nan = hn::Gt(hn::And(u, hn::Set(du, 0x7fffffffu)), hn::Set(du, 0x7f800000u));
    hn::StoreU(hn::TruncateTo(dh, hn::IfThenElse(nan, hn::Or(high, hn::Set(du, 0x40u)), rounded)), dh,
               reinterpret_cast<uint16_t*>(p));
  } else if constexpr (std::is_same_v<T, Half>) {
    const hn::ScalableTag<float> df;
    const hn::Rebind<hwy::float16_t, decltype(df)> dh;
    hn::StoreU(hn::DemoteTo(dh, x.v), dh, reinterpret_cast<hwy::float16_t*>(p));
  } else {
    x.store(p);
  }
#else
  *p = T(hn::GetLane(x.v));
#endif
}

/// The first n lanes, n less than a vector; the others are `fill`.
template <class T>
HWY_INLINE WidePack<T> load_part(const T* p, int64_t n, Wide<T> fill) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const hn::ScalableTag<T> d;
    const auto mask = hn::FirstN(d, static_cast<size_t>(n));
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, p), hn::Set(d, fill));
  }
#endif
  constexpr size_t kMax = HWY_MAX_BYTES / sizeof(Wide<T>);
  alignas(64) Wide<T> lanes[kMax];
  for (size_t k = 0; k < kMax; ++k) lanes[k] = fill;
  for (int64_t k = 0; k < n; ++k) lanes[k] = static_cast<Wide<T>>(p[k]);
  return WidePack<T>::load(lanes);
}
template <class T>
HWY_INLINE void store_part(WidePack<T> x, T* p, int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const hn::ScalableTag<T> d;
    return hn::BlendedStore(x.v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
  }
#endif
  alignas(64) Wide<T> lanes[HWY_MAX_BYTES / sizeof(Wide<T>)] = {};
  x.store(lanes);
  for (int64_t k = 0; k < n; ++k) p[k] = T(lanes[k]);
}

/// Reads and writes one vector at position k of any array.
struct WholeVector {
  int64_t k;
  template <class T>
  HWY_INLINE WidePack<T> load(const T* p, Wide<T>) const {
    return load_wide(p + k);
  }
  template <class T>
  HWY_INLINE void store(WidePack<T> x, T* p) const {
    store_wide(x, p + k);
  }
};
/// The same for the last, partial vector: lanes beyond n read as `fill` and are not written.
struct PartVector {
  int64_t k, n;
  template <class T>
  HWY_INLINE WidePack<T> load(const T* p, Wide<T> fill) const {
    return load_part(p + k, n, fill);
  }
  template <class T>
  HWY_INLINE void store(WidePack<T> x, T* p) const {
    store_part(x, p + k, n);
  }
};

/// body(at, j) for every vector of [0, n), where `at` loads and stores, and j in [0, 4) picks an accumulator.
template <class Body>
HWY_INLINE void for_vectors(int64_t n, int64_t lanes, Body body) {
  int64_t k = 0;
  for (; k + 4 * lanes <= n; k += 4 * lanes) {
    body(WholeVector{k}, 0);
    body(WholeVector{k + lanes}, 1);
    body(WholeVector{k + 2 * lanes}, 2);
    body(WholeVector{k + 3 * lanes}, 3);
  }
  for (; k + lanes <= n; k += lanes) body(WholeVector{k}, 0);
  if (k < n) body(PartVector{k, n - k}, 1);
}
/// For the bodies of such loops.
#define HW_VECTOR_BODY __attribute__((always_inline))

/// combine of all lanes, in a fixed order.
template <class T, class Combine>
HWY_INLINE T across_lanes(Pack<T> p, Combine combine) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = hn::MaxLanes(d);
  if constexpr (kLanes >= 16) p = combine(p, Pack<T>(hn::Reverse(d, p.v)));
  if constexpr (kLanes >= 8) p = combine(p, Pack<T>(hn::Reverse8(d, p.v)));
  if constexpr (kLanes >= 4) p = combine(p, Pack<T>(hn::Reverse4(d, p.v)));
  if constexpr (kLanes >= 2) p = combine(p, Pack<T>(hn::Reverse2(d, p.v)));
#endif
  return hn::GetLane(p.v);
}
template <class T>
HWY_INLINE T sum_lanes(Pack<T> p) {
  return across_lanes(p, [](Pack<T> a, Pack<T> b) HW_VECTOR_BODY { return a + b; });
}
template <class T>
HWY_INLINE T max_lanes(Pack<T> p) {
  return across_lanes(p, [](Pack<T> a, Pack<T> b) HW_VECTOR_BODY { return Pack<T>(hn::Max(a.v, b.v)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
