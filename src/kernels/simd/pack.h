// Pack<T>: a SIMD vector with the operators of a scalar, so that one template expression serves scalars and vectors.
// Included once per instruction set (Highway's scheme): everything lives in hw::HWY_NAMESPACE.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/simd/targets.h"
// After targets.h.
#include "hwy/highway.h"

#if defined(HW_KERNELS_SIMD_PACK_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_KERNELS_SIMD_PACK_H
#undef HW_KERNELS_SIMD_PACK_H
#else
#define HW_KERNELS_SIMD_PACK_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The result of comparing packs.
template <class T>
struct PackMask {
  using M = hn::Mask<hn::ScalableTag<T>>;
  M m;
  HWY_INLINE PackMask(M mask) : m(mask) {}
  friend HWY_INLINE PackMask operator&(PackMask a, PackMask b) { return hn::And(a.m, b.m); }
  friend HWY_INLINE PackMask operator|(PackMask a, PackMask b) { return hn::Or(a.m, b.m); }
  friend HWY_INLINE PackMask operator!(PackMask a) { return hn::Not(a.m); }
};

template <class T>
struct Pack {
  using Scalar = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  V v;

  Pack() = default;
  HWY_INLINE Pack(V vector) : v(vector) {}
  template <class S>
  requires std::is_arithmetic_v<S> HWY_INLINE explicit Pack(S s) : v(hn::Set(D(), static_cast<T>(s))) {}

  static HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  static HWY_INLINE Pack load(const T* p) { return hn::LoadU(D(), p); }
  HWY_INLINE void store(T* p) const { hn::StoreU(v, D(), p); }

  friend HWY_INLINE Pack operator+(Pack a, Pack b) { return hn::Add(a.v, b.v); }
  friend HWY_INLINE Pack operator-(Pack a, Pack b) { return hn::Sub(a.v, b.v); }
  friend HWY_INLINE Pack operator*(Pack a, Pack b) { return hn::Mul(a.v, b.v); }
  friend HWY_INLINE Pack operator/(Pack a, Pack b) { return hn::Div(a.v, b.v); }
  friend HWY_INLINE Pack operator-(Pack a) { return hn::Neg(a.v); }
  friend HWY_INLINE PackMask<T> operator<(Pack a, Pack b) { return hn::Lt(a.v, b.v); }
  friend HWY_INLINE PackMask<T> operator<=(Pack a, Pack b) { return hn::Le(a.v, b.v); }
  friend HWY_INLINE PackMask<T> operator>(Pack a, Pack b) { return hn::Gt(a.v, b.v); }
  friend HWY_INLINE PackMask<T> operator>=(Pack a, Pack b) { return hn::Ge(a.v, b.v); }
  friend HWY_INLINE PackMask<T> operator==(Pack a, Pack b) { return hn::Eq(a.v, b.v); }
  // Not Ne: on AVX-512 that is false for NaN in Highway 1.0.3.
  friend HWY_INLINE PackMask<T> operator!=(Pack a, Pack b) { return hn::Not(hn::Eq(a.v, b.v)); }
};

template <class T>
HWY_INLINE Pack<T> select(PackMask<T> m, Pack<T> yes, Pack<T> no) {
  return hn::IfThenElse(m.m, yes.v, no.v);
}
template <class T>
requires(!requires(T x) { x.v; }) HWY_INLINE T select(bool m, T yes, T no) { return m ? yes : no; }

/// f of each lane, where there is no vector formula.
template <class F, class T, class... More>
HWY_INLINE Pack<T> each_lane(F f, Pack<T> a, More... more) {
  constexpr size_t kMax = HWY_MAX_BYTES / sizeof(T);
  alignas(64) T in[1 + sizeof...(more)][kMax];
  size_t row = 0;
  a.store(in[row++]);
  (more.store(in[row++]), ...);
  for (int64_t k = 0; k < Pack<T>::lanes(); ++k) {
    if constexpr (sizeof...(more) == 0)
      in[0][k] = f(in[0][k]);
    else if constexpr (sizeof...(more) == 1)
      in[0][k] = f(in[0][k], in[1][k]);
    else
      in[0][k] = f(in[0][k], in[1][k], in[2][k]);
  }
  return Pack<T>::load(in[0]);
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
