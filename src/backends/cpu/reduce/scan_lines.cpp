// Running sums, products and extremes of a line, or of lines side by side.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/reduce/scan.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/scan_lines.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/arithmetic.h"
#include "kernels/simd/load.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

/// The type sums run in: f32 in double, because a running sum has no pairs to add.
template <class T>
using Running = std::conditional_t<std::is_same_v<T, float>, double, std::conditional_t<sizeof(T) == 2, float, T>>;

struct Sum {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return math::add(a, b);
  }
};
struct Product {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return math::mul(a, b);
  }
};

template <class F, class T, class W>
HWY_INLINE W scan_part(const T* x, T* y, int64_t n, W acc) {
  for (int64_t k = 0; k < n; ++k) {
    acc = F::join(acc, static_cast<W>(x[k]));
    y[k] = static_cast<T>(acc);
  }
  return acc;
}

/// A vector of running values from elements in memory, and back.
template <class T>
HWY_INLINE Pack<Running<T>> load_running(const T* p) {
  if constexpr (std::is_same_v<T, float>) {
    const hn::ScalableTag<double> d;
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), p));
  } else if constexpr (std::is_integral_v<T>) {
    return Pack<T>::load(p);
  } else {
    return load_wide(p);
  }
}
template <class T>
HWY_INLINE void store_running(Pack<Running<T>> v, T* p) {
  if constexpr (std::is_same_v<T, float>) {
    const hn::Rebind<float, hn::ScalableTag<double>> d;
    hn::StoreU(hn::DemoteTo(d, v.v), d, p);
  } else if constexpr (std::is_integral_v<T>) {
    v.store(p);
  } else {
    store_wide(v, p);
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Running values within a vector, by doubling the distance from which lanes are taken.
template <class F, class W>
struct Prefix {
  using V = Pack<W>;
  using D = hn::ScalableTag<W>;
  using Place = hn::TFromD<hn::RebindToSigned<D>>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr int kSteps = kLanes >= 16 ? 4 : kLanes >= 8 ? 3 : kLanes >= 4 ? 2 : 1;
  using Indices = decltype(hn::SetTableIndices(D(), static_cast<const Place*>(nullptr)));

  explicit HWY_INLINE Prefix(W neutral) : none(neutral) {
    Place at[kLanes];
    for (int s = 0; s < kSteps; ++s) {
      for (int i = 0; i < kLanes; ++i) at[i] = static_cast<Place>(i >= 1 << s ? i - (1 << s) : 0);
      from[s] = hn::SetTableIndices(D(), at);
    }
    std::fill_n(at, kLanes, static_cast<Place>(kLanes - 1));
    last = hn::SetTableIndices(D(), at);
  }
  HWY_INLINE V operator()(V v) const {
    for (int s = 0; s < kSteps; ++s) {
      const auto first = hn::FirstN(D(), size_t{1} << s);
      v = F::join(V(hn::IfThenElse(first, none.v, hn::TableLookupLanes(v.v, from[s]))), v);
    }
    return v;
  }
  HWY_INLINE V total(V v) const { return hn::TableLookupLanes(v.v, last); }

  V none;
  Indices from[kSteps], last;
};
#endif

/// In vectors where that is exact enough: products of several lanes must not overflow where the running product does not.
template <class F, class T>
void scan_line(const Line& line) {
  using W = Running<T>;
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  W acc = std::is_same_v<F, Sum> ? W(0) : W(1);
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  using V = Pack<W>;
  const int64_t lanes = V::lanes();
  if constexpr (std::is_same_v<T, float> || (std::is_same_v<F, Sum> && !std::is_integral_v<T>)) {
    const Prefix<F, W> prefix(acc);
    V carry(acc);
    for (; k + lanes <= line.n; k += lanes) {
      const V v = prefix(load_running(x + k));
      store_running(F::join(carry, v), y + k);
      carry = F::join(carry, prefix.total(v));
    }
    acc = hn::GetLane(carry.v);
  } else if constexpr (sizeof(T) == 2) {
    constexpr int64_t kPart = 512;
    W part[kPart];
    for (; k + lanes <= line.n;) {
      const int64_t n = std::min(kPart, line.n - k) / lanes * lanes;
      for (int64_t i = 0; i < n; i += lanes) load_running(x + k + i).store(part + i);
      acc = scan_part<F>(part, part, n, acc);
      for (int64_t i = 0; i < n; i += lanes) store_running(V::load(part + i), y + k + i);
      k += n;
    }
  }
#endif
  scan_part<F>(x + k, y + k, line.n - k, acc);
}

/// Rows k to k + kRows of a block.
template <int kRows, class F, class T>
HWY_INLINE void scan_rows(const LineBlock& b, int64_t k, Running<T>* acc) {
  using V = Pack<Running<T>>;
  const T* x = static_cast<const T*>(b.in[0]) + k * b.in_step[0];
  T* y = static_cast<T*>(b.out[0]) + k * b.out_step[0];
  int64_t c = 0;
  for (const int64_t lanes = V::lanes(); c + lanes <= b.width; c += lanes) {
    V a = V::load(acc + c);
    for (int r = 0; r < kRows; ++r) {
      a = F::join(a, load_running(x + r * b.in_step[0] + c));
      store_running(a, y + r * b.out_step[0] + c);
    }
    a.store(acc + c);
  }
  for (; c < b.width; ++c)
    for (int r = 0; r < kRows; ++r) {
      acc[c] = F::join(acc[c], static_cast<Running<T>>(x[r * b.in_step[0] + c]));
      y[r * b.out_step[0] + c] = static_cast<T>(acc[c]);
    }
}

template <class F, class T>
void scan_block(const LineBlock& b) {
  auto* acc = static_cast<Running<T>*>(b.scratch);
  std::fill_n(acc, b.width, std::is_same_v<F, Sum> ? Running<T>(0) : Running<T>(1));
  int64_t k = 0;
  for (; k + 4 <= b.n; k += 4) scan_rows<4, F, T>(b, k, acc);
  for (; k < b.n; ++k) scan_rows<1, F, T>(b, k, acc);
}

/// The type that T is compared as.
template <class T>
using Value = std::conditional_t<std::is_integral_v<T>, T, Wide<T>>;
template <class T>
HWY_INLINE Pack<Value<T>> load(const T* p) {
  if constexpr (std::is_integral_v<T>)
    return Pack<T>::load(p);
  else
    return load_wide(p);
}
template <class T>
HWY_INLINE void store(Pack<Value<T>> v, T* p) {
  if constexpr (std::is_integral_v<T>)
    v.store(p);
  else
    store_wide(v, p);
}

/// Whether x takes the place of best, which comes before it: the last of equal elements, and the last NaN.
template <bool kMax, class V>
HWY_INLINE auto takes(V x, V best) {
  if constexpr (Vector<V>) {
    if constexpr (std::is_integral_v<typename V::Scalar>)
      return kMax ? !(x < best) : !(x > best);
    else
      return (kMax ? x >= best : x <= best) | (x != x);
  } else {
    return (kMax ? x >= best : x <= best) | (x != x);
  }
}

template <class T, bool kMax>
void extreme_line(const Line& line) {
  using V = Pack<Value<T>>;
  const T* x = static_cast<const T*>(line.in[0]);
  T* y = static_cast<T*>(line.out[0]);
  auto* index = static_cast<int64_t*>(line.out[1]);
  const int64_t lanes = V::lanes();
  int64_t best = 0;
  for (int64_t k = 0; k < line.n; k += lanes) {
    const int64_t n = std::min(lanes, line.n - k);
    if (n == lanes && hn::AllFalse(typename V::D(), takes<kMax>(load(x + k), V(static_cast<Value<T>>(x[best]))).m)) {
      std::fill_n(y + k, n, x[best]);
      std::fill_n(index + k, n, best);
      continue;
    }
    for (int64_t i = k; i < k + n; ++i) {
      if (takes<kMax>(static_cast<Value<T>>(x[i]), static_cast<Value<T>>(x[best]))) best = i;
      y[i] = x[best];
      index[i] = best;
    }
  }
}

/// Vectors of indices beside those of values.
template <class S>
using Index = std::conditional_t<sizeof(S) == 4, int32_t, int64_t>;

template <class I>
HWY_INLINE void store_indices(hn::Vec<hn::ScalableTag<I>> v, int64_t* p) {
  const hn::ScalableTag<int64_t> d;
  if constexpr (sizeof(I) == 8) {
    hn::StoreU(v, d, p);
  } else {
#if HWY_TARGET == HWY_SCALAR
    *p = hn::GetLane(v);
#else
    const hn::Half<hn::ScalableTag<I>> half;
    hn::StoreU(hn::PromoteTo(d, hn::LowerHalf(half, v)), d, p);
    hn::StoreU(hn::PromoteTo(d, hn::UpperHalf(half, v)), d, p + hn::Lanes(d));
#endif
  }
}

template <int kRows, class T, bool kMax>
HWY_INLINE void extreme_rows(const LineBlock& b, int64_t k, Value<T>* best, Index<Value<T>>* place) {
  using V = Pack<Value<T>>;
  using I = Index<Value<T>>;
  const hn::ScalableTag<I> di;
  const T* x = static_cast<const T*>(b.in[0]) + k * b.in_step[0];
  T* y = static_cast<T*>(b.out[0]) + k * b.out_step[0];
  int64_t* index = static_cast<int64_t*>(b.out[1]) + k * b.out_step[1];
  int64_t c = 0;
  for (const int64_t lanes = V::lanes(); c + lanes <= b.width; c += lanes) {
    V top = V::load(best + c);
    auto at = hn::LoadU(di, place + c);
    for (int r = 0; r < kRows; ++r) {
      const V p = load(x + r * b.in_step[0] + c);
      const PackMask<Value<T>> wins = takes<kMax>(p, top);
      top = select(wins, p, top);
      at = hn::IfThenElse(hn::RebindMask(di, wins.m), hn::Set(di, static_cast<I>(k + r)), at);
      store(top, y + r * b.out_step[0] + c);
      store_indices<I>(at, index + r * b.out_step[1] + c);
    }
    top.store(best + c);
    hn::StoreU(at, di, place + c);
  }
  for (; c < b.width; ++c)
    for (int r = 0; r < kRows; ++r) {
      const auto v = static_cast<Value<T>>(x[r * b.in_step[0] + c]);
      if (takes<kMax>(v, best[c])) best[c] = v, place[c] = static_cast<I>(k + r);
      y[r * b.out_step[0] + c] = static_cast<T>(best[c]);
      index[r * b.out_step[1] + c] = place[c];
    }
}

template <class T, bool kMax>
void extreme_block(const LineBlock& b) {
  auto* best = static_cast<Value<T>*>(b.scratch);
  auto* place = reinterpret_cast<Index<Value<T>>*>(best + b.pitch);
  for (int64_t c = 0; c < b.width; ++c)
    best[c] = static_cast<Value<T>>(static_cast<const T*>(b.in[0])[c]), place[c] = 0;
  int64_t k = 0;
  for (; k + 4 <= b.n; k += 4) extreme_rows<4, T, kMax>(b, k, best, place);
  for (; k < b.n; ++k) extreme_rows<1, T, kMax>(b, k, best, place);
}

template <class T>
ScanLines lines_of(std::string_view op) {
  if (op == "cummax") return {&extreme_line<T, true>, &extreme_block<T, true>};
  if (op == "cummin") return {&extreme_line<T, false>, &extreme_block<T, false>};
  if constexpr (!std::is_same_v<T, int32_t>) {
    if (op == "cumsum") return {&scan_line<Sum, T>, &scan_block<Sum, T>};
    return {&scan_line<Product, T>, &scan_block<Product, T>};
  }
  return {};
}

ScanLines find_lines(std::string_view op, DType d) {
  switch (d) {
    case DType::F16: return lines_of<Half>(op);
    case DType::BF16: return lines_of<BFloat16>(op);
    case DType::F32: return lines_of<float>(op);
    case DType::F64: return lines_of<double>(op);
    case DType::I32: return lines_of<int32_t>(op);
    case DType::I64: return lines_of<int64_t>(op);
    default: return {};
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_lines);
ScanLines find_scan_lines(std::string_view op, DType d) { return HWY_DYNAMIC_DISPATCH(find_lines)(op, d); }
}  // namespace hw
#endif
