// The largest or smallest element of a line with its index, for the instruction set in use.
#include <type_traits>

#include "backends/cpu/reduce/choose.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/choose_lines.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/load.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

constexpr int64_t kStretch = 2048;  // elements whose best is found before its place is looked for

/// The type that T is compared as, and vectors of it.
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
HWY_INLINE Value<T> value_of(T x) {
  return static_cast<Value<T>>(x);
}

/// Whether x takes the place of best, which comes before it.
template <bool kMax, class V>
HWY_INLINE auto beats(V x, V best) {
  return (kMax ? x > best : x < best) | ((x != x) & (best == best));
}
template <bool kMax, class T>
HWY_INLINE Pack<T> better_of(Pack<T> best, Pack<T> x) {
  if constexpr (std::is_integral_v<T>)
    return kMax ? hn::Max(x.v, best.v) : hn::Min(x.v, best.v);
  else  // once a NaN, always a NaN
    return select((kMax ? x > best : x < best) | (x != x), x, best);
}

/// The best of n elements; a NaN if there is one.
template <bool kMax, class T>
HWY_INLINE Value<T> best_of(const T* x, int64_t n) {
  using V = Pack<Value<T>>;
  const int64_t step = V::lanes();
  Value<T> best = value_of(x[0]);
  int64_t k = 0;
  if (n >= 4 * step) {
    V a[4] = {load(x), load(x + step), load(x + 2 * step), load(x + 3 * step)};
    for (k = 4 * step; k + 4 * step <= n; k += 4 * step)
      for (int j = 0; j < 4; ++j) a[j] = better_of<kMax>(a[j], load(x + k + j * step));
    const V all = better_of<kMax>(better_of<kMax>(a[0], a[1]), better_of<kMax>(a[2], a[3]));
    best = across_lanes(all, [](V p, V q) HW_VECTOR_BODY { return better_of<kMax>(p, q); });
  }
  for (; k < n; ++k) best = beats<kMax>(value_of(x[k]), best) ? value_of(x[k]) : best;
  return best;
}

/// The first element equal to best, or the first NaN; there is one.
template <class T>
HWY_INLINE int64_t place_of(const T* x, int64_t n, Value<T> best) {
  using V = Pack<Value<T>>;
  const bool nan = best != best;
  int64_t k = 0;
  for (const int64_t step = V::lanes(); k + step <= n; k += step) {
    const V p = load(x + k);
    const auto found = nan ? p != p : p == V(best);
    if (!hn::AllFalse(typename V::D(), found.m)) break;
  }
  for (; k < n; ++k) {
    const Value<T> v = value_of(x[k]);
    if (nan ? v != v : v == best) break;
  }
  return k;
}

template <class T>
HWY_INLINE void put(void* const* out, int64_t at, Value<T> value, int64_t index) {
  if (out[1]) {
    static_cast<Value<T>*>(out[0])[at] = value;
    static_cast<int64_t*>(out[1])[at] = index;
  } else {
    static_cast<int64_t*>(out[0])[at] = index;
  }
}

template <class T, bool kMax>
void line(const Line& l) {
  const T* x = static_cast<const T*>(l.in[0]);
  Value<T> best = value_of(x[0]);
  int64_t index = 0;
  for (int64_t at = 0; at < l.n && best == best; at += kStretch) {
    const int64_t n = l.n - at < kStretch ? l.n - at : kStretch;
    const Value<T> top = best_of<kMax>(x + at, n);
    if (at > 0 && !beats<kMax>(top, best)) continue;
    index = at + place_of(x + at, n, top);
    best = value_of(x[index]);
  }
  put<T>(l.out, 0, best, index);
}

/// Vectors of indices beside those of values.
template <class S>
using Index = std::conditional_t<sizeof(S) == 4, int32_t, int64_t>;

/// The best of `rows` rows from row k on, into the best so far at column c.
template <class T, bool kMax>
HWY_INLINE void take_rows(const T* x, int64_t step, int64_t k, int rows, Value<T>* best, Index<Value<T>>* index) {
  using S = Value<T>;
  using V = Pack<S>;
  const hn::ScalableTag<Index<S>> di;
  V top = V::load(best);
  auto place = hn::LoadU(di, index);
  for (int r = 0; r < rows; ++r) {
    const V p = load(x + r * step);
    const auto wins = beats<kMax>(p, top);
    top = select(wins, p, top);
    place = hn::IfThenElse(hn::RebindMask(di, wins.m), hn::Set(di, static_cast<Index<S>>(k + r)), place);
  }
  top.store(best);
  hn::StoreU(place, di, index);
}

template <class T, bool kMax>
void block(const LineBlock& b) {
  using S = Value<T>;
  S* best = static_cast<S*>(b.scratch);
  Index<S>* index = reinterpret_cast<Index<S>*>(best + b.pitch);
  const T* x = static_cast<const T*>(b.in[0]);
  const int64_t lanes = Pack<S>::lanes(), step = b.in_step[0], whole = b.width / lanes * lanes;
  for (int64_t c = 0; c < b.width; ++c) best[c] = value_of(x[c]), index[c] = 0;
  for (int64_t k = 1; k < b.n;) {
    const int rows = static_cast<int>(b.n - k < 8 ? b.n - k : 8);
    const T* from = x + k * step;
    if (rows == 8)
      for (int64_t c = 0; c < whole; c += lanes) take_rows<T, kMax>(from + c, step, k, 8, best + c, index + c);
    else
      for (int64_t c = 0; c < whole; c += lanes) take_rows<T, kMax>(from + c, step, k, rows, best + c, index + c);
    for (int r = 0; r < rows; ++r)
      for (int64_t c = whole; c < b.width; ++c) {
        const S v = value_of(from[r * step + c]);
        if (beats<kMax>(v, best[c])) best[c] = v, index[c] = static_cast<Index<S>>(k + r);
      }
    k += rows;
  }
  for (int64_t c = 0; c < b.width; ++c) put<T>(b.out, c, best[c], index[c]);
}

template <class T>
ChooseLines lines_of(bool largest) {
  return largest ? ChooseLines{&line<T, true>, &block<T, true>} : ChooseLines{&line<T, false>, &block<T, false>};
}

ChooseLines find_lines(DType d, bool largest) {
  switch (d) {
    case DType::F16: return lines_of<Half>(largest);
    case DType::BF16: return lines_of<BFloat16>(largest);
    case DType::F32: return lines_of<float>(largest);
    case DType::F64: return lines_of<double>(largest);
    case DType::I32: return lines_of<int32_t>(largest);
    case DType::I64: return lines_of<int64_t>(largest);
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
ChooseLines find_choose_lines(DType d, bool largest) { return HWY_DYNAMIC_DISPATCH(find_lines)(d, largest); }
}  // namespace hw
#endif
