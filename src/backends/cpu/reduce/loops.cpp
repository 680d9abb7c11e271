// Inner loops of reductions, made from one functor per kind.
#include "backends/cpu/reduce/loops.h"

#include <complex>
#include <limits>

#include "backends/cpu/reduce/kept.h"
#include "core/half.h"

#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/loops.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/arithmetic.h"
#include "kernels/simd/load.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {

template <class V>
HWY_INLINE V abs_of(V x) {
  if constexpr (Vector<V>)
    return V(hn::Abs(x.v));
  else
    return x < V(0) ? -x : (x == V(0) ? V(0) : x);
}
template <class V>
HWY_INLINE auto is_nan(V x) {
  return x != x;
}
template <class V>
HWY_INLINE V larger(V a, V b) {
  if constexpr (std::is_floating_point_v<V> || Vector<V>)
    return select((b > a) | is_nan(b), b, a);
  else
    return b > a ? b : a;
}
template <class V>
HWY_INLINE V smaller(V a, V b) {
  if constexpr (std::is_floating_point_v<V> || Vector<V>)
    return select((b < a) | is_nan(b), b, a);
  else
    return b < a ? b : a;
}
template <class T>
T lowest() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? -L::infinity() : L::lowest();
}
template <class T>
T highest() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? L::infinity() : L::max();
}

// Each functor: first (the neutral value), map (of an element), combine (of two partial results).
struct SumOf {
  template <class T>
  static T first() {
    return T(0);
  }
  template <class V>
  static HWY_INLINE V map(V x) {
    return x;
  }
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return math::add(a, b);
  }
};
struct ProdOf : SumOf {
  template <class T>
  static T first() {
    return T(1);
  }
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return math::mul(a, b);
  }
};
struct MaxOf : SumOf {
  template <class T>
  static T first() {
    return lowest<T>();
  }
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return larger(a, b);
  }
};
struct MinOf : SumOf {
  template <class T>
  static T first() {
    return highest<T>();
  }
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return smaller(a, b);
  }
};
struct AllOf : SumOf {
  template <class T>
  static T first() {
    return T(1);
  }
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return V(a & b);
  }
};
struct AnyOf : SumOf {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return V(a | b);
  }
};
struct SumSquaresOf : SumOf {
  template <class V>
  static HWY_INLINE V map(V x) {
    return math::mul(x, x);
  }
};
struct SumAbsOf : SumOf {
  template <class V>
  static HWY_INLINE V map(V x) {
    return abs_of(x);
  }
};
struct CountOf : SumOf {
  template <class V>
  static HWY_INLINE V map(V x) {
    return select(x != V(0), V(1), V(0));
  }
};
struct MaxAbsOf : SumOf {
  template <class V>
  static HWY_INLINE V map(V x) {
    return abs_of(x);
  }
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return larger(a, b);
  }
};
struct MinAbsOf : MinOf {
  template <class V>
  static HWY_INLINE V map(V x) {
    return abs_of(x);
  }
};

/// Scalars stand for packs where there are none: bool and complex.
template <class T>
struct Lanes {
  static constexpr bool kPacked = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>;
  using V = std::conditional_t<kPacked, Pack<std::conditional_t<kPacked, T, float>>, T>;
  static HWY_INLINE int64_t count() {
    if constexpr (kPacked)
      return V::lanes();
    else
      return 1;
  }
  static HWY_INLINE V load(const T* p) {
    if constexpr (kPacked)
      return V::load(p);
    else
      return *p;
  }
  static HWY_INLINE void store(V v, T* p) {
    if constexpr (kPacked)
      v.store(p);
    else
      *p = v;
  }
  static HWY_INLINE V set(T x) {
    if constexpr (kPacked)
      return V(x);
    else
      return x;
  }
};

/// The combination of all lanes.
template <class F, class T>
HWY_INLINE T across(Pack<T> p) {
  return across_lanes(p, [](Pack<T> a, Pack<T> b) HW_VECTOR_BODY { return F::combine(a, b); });
}
template <class F, class T>
HWY_INLINE T across(T x) {
  return x;
}

template <class F, class T>
void row(const void* from, int64_t n, void* to) {
  using L = Lanes<T>;
  using V = typename L::V;
  const T* x = static_cast<const T*>(from);
  const int64_t step = L::count();
  T result = *static_cast<T*>(to);
  int64_t k = 0;
  if (n >= 8 * step) {
    V a[8];
    for (V& v : a) v = L::set(F::template first<T>());
    for (; k + 8 * step <= n; k += 8 * step)
      for (int j = 0; j < 8; ++j) a[j] = F::combine(a[j], F::map(L::load(x + k + j * step)));
    for (int j = 0; j < 4; ++j) a[j] = F::combine(a[j], a[j + 4]);
    for (; k + step <= n; k += step) a[0] = F::combine(a[0], F::map(L::load(x + k)));
    const V v = F::combine(F::combine(a[0], a[1]), F::combine(a[2], a[3]));
    result = F::combine(result, across<F>(v));
  }
  for (; k < n; ++k) result = F::combine(result, F::map(x[k]));
  *static_cast<T*>(to) = result;
}

#if HWY_TARGET != HWY_SCALAR
/// Two vectors of f32 from twice as many 16-bit floats at p, in whatever order is cheapest.
template <class T>
HWY_INLINE void load_pair(const T* p, Pack<float>& a, Pack<float>& b) {
  const hn::ScalableTag<float> df;
  if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::ScalableTag<uint32_t> du;
    const auto bits = hn::BitCast(du, hn::LoadU(hn::ScalableTag<uint16_t>(), reinterpret_cast<const uint16_t*>(p)));
    a = hn::BitCast(df, hn::ShiftLeft<16>(bits));
    b = hn::BitCast(df, hn::And(bits, hn::Set(du, 0xffff0000u)));
  } else {
    const hn::Rebind<hwy::float16_t, decltype(df)> dh;
    const auto* h = reinterpret_cast<const hwy::float16_t*>(p);
    a = hn::PromoteTo(df, hn::LoadU(dh, h));
    b = hn::PromoteTo(df, hn::LoadU(dh, h + hn::Lanes(df)));
  }
}

template <class F, class T>
void row16(const void* from, int64_t n, void* to) {
  using V = Pack<float>;
  const T* x = static_cast<const T*>(from);
  const int64_t step = 2 * V::lanes();
  float result = *static_cast<float*>(to);
  int64_t k = 0;
  if (n >= step) {
    V a[8];
    for (V& v : a) v = V(F::template first<float>());
    for (; k + 4 * step <= n; k += 4 * step)
      for (int j = 0; j < 4; ++j) {
        V p, q;
        load_pair(x + k + j * step, p, q);
        a[2 * j] = F::combine(a[2 * j], F::map(p));
        a[2 * j + 1] = F::combine(a[2 * j + 1], F::map(q));
      }
    for (; k + step <= n; k += step) {
      V p, q;
      load_pair(x + k, p, q);
      a[0] = F::combine(a[0], F::map(p));
      a[1] = F::combine(a[1], F::map(q));
    }
    for (int width = 4; width > 0; width /= 2)
      for (int j = 0; j < width; ++j) a[j] = F::combine(a[j], a[j + width]);
    result = F::combine(result, across<F>(a[0]));
  }
  for (; k < n; ++k) result = F::combine(result, F::map(static_cast<float>(x[k])));
  *static_cast<float*>(to) = result;
}
#endif

/// Rows are combined in pairs, so that eight of them add three roundings and not eight.
template <class F, class V, class Load>
HWY_INLINE V tree(int k, Load load) {
  if (k == 8) {
    V a = F::combine(load(0), load(1)), b = F::combine(load(2), load(3));
    V c = F::combine(load(4), load(5)), d = F::combine(load(6), load(7));
    return F::combine(F::combine(a, b), F::combine(c, d));
  }
  V a = load(0);
  for (int r = 1; r < k; ++r) a = F::combine(a, load(r));
  return a;
}

template <class F, class T>
void columns(const void* const* from, int k, int64_t n, void* to) {
  using L = Lanes<T>;
  using V = typename L::V;
  const T* const* rows = reinterpret_cast<const T* const*>(from);
  T* acc = static_cast<T*>(to);
  const int64_t step = L::count();
  int64_t c = 0;
  if (k == 8) {
    const T *x0 = rows[0], *x1 = rows[1], *x2 = rows[2], *x3 = rows[3];
    const T *x4 = rows[4], *x5 = rows[5], *x6 = rows[6], *x7 = rows[7];
    for (; c + step <= n; c += step) {
      V p = F::combine(F::map(L::load(x0 + c)), F::map(L::load(x1 + c)));
      V q = F::combine(F::map(L::load(x2 + c)), F::map(L::load(x3 + c)));
      V r = F::combine(F::map(L::load(x4 + c)), F::map(L::load(x5 + c)));
      V s = F::combine(F::map(L::load(x6 + c)), F::map(L::load(x7 + c)));
      L::store(F::combine(L::load(acc + c), F::combine(F::combine(p, q), F::combine(r, s))), acc + c);
    }
  }
  for (; c + step <= n; c += step)
    L::store(F::combine(L::load(acc + c), tree<F, V>(k, [&](int r) { return F::map(L::load(rows[r] + c)); })), acc + c);
  for (; c < n; ++c) acc[c] = F::combine(acc[c], tree<F, T>(k, [&](int r) { return F::map(rows[r][c]); }));
}

template <class F, class T>
void merge(const void* from, int64_t n, void* to) {
  const T* part = static_cast<const T*>(from);
  T* acc = static_cast<T*>(to);
  for (int64_t c = 0; c < n; ++c) acc[c] = F::combine(acc[c], part[c]);
}

template <class F, class T>
void clear(void* to, int64_t n) {
  T* acc = static_cast<T*>(to);
  for (int64_t c = 0; c < n; ++c) acc[c] = F::template first<T>();
}

template <class F, class T>
ReduceLoops made(DType in = DType::None) {
  ReduceLoops loops{&row<F, T>, nullptr, &columns<F, T>, &merge<F, T>, &clear<F, T>};
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float> && reduced_from(DType::BF16))
    if (in == DType::BF16) loops.row16 = &row16<F, BFloat16>;
  if constexpr (std::is_same_v<T, float> && reduced_from(DType::F16))
    if (in == DType::F16) loops.row16 = &row16<F, Half>;
#endif
  return loops;
}

/// The loops of F for elements of type T, if a build has them.
template <ReduceKind kKind, class F, DType kCompute, class T>
ReduceLoops kept(DType in = DType::None) {
  if constexpr (reduction_kept(kKind, kCompute))
    return made<F, T>(in);
  else
    return {};
}

template <DType D, class T>
ReduceLoops find_as(ReduceKind kind, DType in = DType::None) {
  using K = ReduceKind;
  if constexpr (std::is_same_v<T, bool>) {
    switch (kind) {
      case K::Any: return kept<K::Any, AnyOf, D, T>();
      case K::Max: return kept<K::Max, AnyOf, D, T>();
      case K::Sum: return kept<K::Sum, AnyOf, D, T>();
      case K::All: return kept<K::All, AllOf, D, T>();
      case K::Min: return kept<K::Min, AllOf, D, T>();
      case K::Prod: return kept<K::Prod, AllOf, D, T>();
      default: return {};
    }
  } else {
    if (kind == K::Sum) return kept<K::Sum, SumOf, D, T>(in);
    if (kind == K::Prod) return kept<K::Prod, ProdOf, D, T>();
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
      if (kind == K::Max) return kept<K::Max, MaxOf, D, T>(in);
      if (kind == K::Min) return kept<K::Min, MinOf, D, T>(in);
    }
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) switch (kind) {
        case K::SumSquares: return kept<K::SumSquares, SumSquaresOf, D, T>(in);
        case K::SumAbs: return kept<K::SumAbs, SumAbsOf, D, T>();
        case K::CountNonzero: return kept<K::CountNonzero, CountOf, D, T>();
        case K::MaxAbs: return kept<K::MaxAbs, MaxAbsOf, D, T>();
        case K::MinAbs: return kept<K::MinAbs, MinAbsOf, D, T>();
        default: break;
      }
    return {};
  }
}

ReduceLoops find_loops(ReduceKind kind, DType compute, DType in) {
  switch (compute) {
    case DType::Bool: return find_as<DType::Bool, bool>(kind);
    case DType::I64: return find_as<DType::I64, int64_t>(kind);
    case DType::F32: return find_as<DType::F32, float>(kind, in);
    case DType::F64: return find_as<DType::F64, double>(kind);
    case DType::C64: return find_as<DType::C64, std::complex<float>>(kind);
    case DType::C128: return find_as<DType::C128, std::complex<double>>(kind);
    default: return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_loops);
ReduceLoops find_reduce_loops(ReduceKind kind, DType compute, DType in) {
  return HWY_DYNAMIC_DISPATCH(find_loops)(kind, compute, in);
}
}  // namespace hw
#endif
