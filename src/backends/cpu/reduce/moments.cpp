// Inner loops of reductions whose accumulators are several numbers: mean and squared deviations, or greatest and sum of exponentials.
// The numbers of one accumulator follow each other in memory.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/reduce/kept.h"
#include "backends/cpu/reduce/loops.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/moments.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/exp_row.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // other files have functions of the same names

constexpr int64_t kStretch = 2048;  // elements of a row that are read again from the first-level cache

template <class T>
HWY_INLINE Pack<T> in_pairs(const Pack<T> (&a)[4]) {
  return (a[0] + a[1]) + (a[2] + a[3]);
}

/// body(part, numbers) for the accumulators of n results, a vector of each of their kNumbers numbers at a time.
template <int kNumbers, class T, class Body>
HWY_INLINE void each_accumulator(int64_t n, T* acc, Body body) {
  using V = Pack<T>;
  const hn::ScalableTag<T> d;
  const int64_t step = V::lanes();
  int64_t c = 0;
  V v[kNumbers];
  for (; c + step <= n; c += step) {
    T* at = acc + c * kNumbers;
    if constexpr (kNumbers == 2)
      hn::LoadInterleaved2(d, at, v[0].v, v[1].v);
    else
      hn::LoadInterleaved3(d, at, v[0].v, v[1].v, v[2].v);
    body(WholeVector{c}, v);
    if constexpr (kNumbers == 2)
      hn::StoreInterleaved2(v[0].v, v[1].v, d, at);
    else
      hn::StoreInterleaved3(v[0].v, v[1].v, v[2].v, d, at);
  }
  if (c == n) return;
  T lanes[kNumbers][HWY_MAX_BYTES / sizeof(T)] = {};
  for (int64_t i = 0; i < (n - c) * kNumbers; ++i) lanes[i % kNumbers][i / kNumbers] = acc[c * kNumbers + i];
  for (int j = 0; j < kNumbers; ++j) v[j] = V::load(lanes[j]);
  body(PartVector{c, n - c}, v);
  for (int j = 0; j < kNumbers; ++j) v[j].store(lanes[j]);
  for (int64_t i = 0; i < (n - c) * kNumbers; ++i) acc[c * kNumbers + i] = lanes[i % kNumbers][i / kNumbers];
}

/// Mean, sum of squared deviations from it, and number of elements (Chan, Golub, LeVeque 1983). The accumulators of one call have
/// seen equally many elements.
template <class T>
struct Moments {
  static constexpr int kNumbers = 3;
  using V = Pack<T>;

  /// The weights by which `more` elements move the moments of `seen`: of the mean, and of the squared difference of the means.
  struct Weights {
    HWY_INLINE Weights(T seen, T more) : count(seen + more), mean(more / count), square(seen * mean) {}
    T count, mean, square;
  };
  template <class P>
  static HWY_INLINE void join(const Weights& w, P mean, P squares, P& acc_mean, P& acc_squares) {
    const P delta = mean - acc_mean;
    acc_mean = acc_mean + delta * P(w.mean);
    acc_squares = acc_squares + (squares + delta * delta * P(w.square));
  }

  static void row(const void* from, int64_t n, void* to) {
    T* acc = static_cast<T*>(to);
    for (int64_t at = 0; at < n; at += kStretch) {
      const T* x = static_cast<const T*>(from) + at;
      const int64_t m = n - at < kStretch ? n - at : kStretch;
      V sums[4] = {V(0), V(0), V(0), V(0)}, squares[4] = {V(0), V(0), V(0), V(0)};
      for_vectors(m, V::lanes(), [&](auto part, int j) HW_VECTOR_BODY { sums[j] = sums[j] + part.load(x, T(0)); });
      const T mean = sum_lanes(in_pairs(sums)) / static_cast<T>(m);
      const V middle(mean);
      for_vectors(m, V::lanes(), [&](auto part, int j) HW_VECTOR_BODY {
        const V d = part.load(x, mean) - middle;
        squares[j] = squares[j] + d * d;
      });
      const Weights w(acc[2], static_cast<T>(m));
      join(w, mean, sum_lanes(in_pairs(squares)), acc[0], acc[1]);
      acc[2] = w.count;
    }
  }

  template <int kRows>
  static HWY_INLINE void columns_of(const void* const* rows, int64_t n, T* acc) {
    const T* const* x = reinterpret_cast<const T* const*>(rows);
    const Weights w(acc[2], T(kRows));
    each_accumulator<kNumbers>(n, acc, [&](auto part, V* numbers) HW_VECTOR_BODY {
      V v[kRows], sums[4] = {V(0), V(0), V(0), V(0)}, deviations[4] = {V(0), V(0), V(0), V(0)};
      for (int r = 0; r < kRows; ++r) v[r] = part.load(x[r], T(0));
      for (int r = 0; r < kRows; ++r) sums[r % 4] = r < 4 ? v[r] : sums[r % 4] + v[r];
      const V middle = in_pairs(sums) * V(T(1) / T(kRows));
      for (int r = 0; r < kRows; ++r) {
        const V d = v[r] - middle;
        deviations[r % 4] = r < 4 ? d * d : deviations[r % 4] + d * d;
      }
      join(w, middle, in_pairs(deviations), numbers[0], numbers[1]);
      numbers[2] = V(w.count);
    });
  }
  static void columns(const void* const* rows, int k, int64_t n, void* to) {
    T* acc = static_cast<T*>(to);
    if (k == kMostRows) return columns_of<kMostRows>(rows, n, acc);
    for (int r = 0; r < k; ++r) columns_of<1>(rows + r, n, acc);
  }

  static void merge(const void* from, int64_t n, void* to) {
    const T* part = static_cast<const T*>(from);
    T* acc = static_cast<T*>(to);
    if (n == 0 || part[2] == 0) return;
    const Weights w(acc[2], part[2]);
    for (int64_t c = 0; c < n; ++c, part += kNumbers, acc += kNumbers) {
      join(w, part[0], part[1], acc[0], acc[1]);
      acc[2] = w.count;
    }
  }
  static void clear(void* to, int64_t n) {
    T* acc = static_cast<T*>(to);
    for (int64_t c = 0; c < n * kNumbers; ++c) acc[c] = T(0);
  }

  static void finish(const ReduceRecipe& recipe, int64_t count, const void* from, int64_t n, void* first,
                     void* second) {
    const T* acc = static_cast<const T*>(from);
    // In this order a correction of NaN counts as too large, as in torch.
    const double divisor = std::max(0.0, static_cast<double>(count) - recipe.correction);
    const T none = count ? T(0) : std::numeric_limits<T>::quiet_NaN();
    for (int64_t c = 0; c < n; ++c, acc += kNumbers) {
      const double variance = static_cast<double>(acc[1] + none) / divisor;
      static_cast<T*>(first)[c] =
          static_cast<T>(recipe.finish == ReduceRecipe::Finish::Deviation ? std::sqrt(variance) : variance);
      static_cast<T*>(second)[c] = acc[0] + none;
    }
  }
};

/// The greatest element, and the sum of exponentials of the differences from it. Infinite or NaN tops are results by themselves.
template <class T>
struct LogSumExp {
  static constexpr int kNumbers = 2;
  using V = Pack<T>;
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  /// NaN if either is one.
  static HWY_INLINE V larger(V a, V b) { return select((b > a) | (b != b), b, a); }
  static HWY_INLINE V shift_of(V top) { return hn::Max(V(std::numeric_limits<T>::lowest()).v, top.v); }
  static HWY_INLINE V term(V x, V shift) { return exp_nonpositive(x - shift); }

  static void row(const void* from, int64_t n, void* to) {
    T* acc = static_cast<T*>(to);
    for (int64_t at = 0; at < n; at += kStretch) {
      const T* x = static_cast<const T*>(from) + at;
      const int64_t m = n - at < kStretch ? n - at : kStretch;
      V tops[4] = {V(acc[0]), V(kNone), V(kNone), V(kNone)}, sums[4] = {V(0), V(0), V(0), V(0)};
      for_vectors(m, V::lanes(),
                  [&](auto part, int j) HW_VECTOR_BODY { tops[j] = larger(tops[j], part.load(x, kNone)); });
      const V all = larger(larger(tops[0], tops[1]), larger(tops[2], tops[3]));
      const T top = across_lanes(all, [](V a, V b) HW_VECTOR_BODY { return larger(a, b); });
      const V shift = shift_of(V(top));
      for_vectors(m, V::lanes(),
                  [&](auto part, int j) HW_VECTOR_BODY { sums[j] = sums[j] + term(part.load(x, kNone), shift); });
      acc[1] = acc[1] * hn::GetLane(term(V(acc[0]), shift).v) + sum_lanes(in_pairs(sums));
      acc[0] = top;
    }
  }

  template <int kRows>
  static HWY_INLINE void columns_of(const void* const* rows, int64_t n, T* acc) {
    const T* const* x = reinterpret_cast<const T* const*>(rows);
    each_accumulator<kNumbers>(n, acc, [&](auto part, V* numbers) HW_VECTOR_BODY {
      V v[kRows], top = numbers[0];
      for (int r = 0; r < kRows; ++r) top = larger(top, v[r] = part.load(x[r], kNone));
      const V shift = shift_of(top);
      V sum = term(v[0], shift);
      for (int r = 1; r < kRows; ++r) sum = sum + term(v[r], shift);
      numbers[1] = numbers[1] * term(numbers[0], shift) + sum;
      numbers[0] = top;
    });
  }
  static void columns(const void* const* rows, int k, int64_t n, void* to) {
    T* acc = static_cast<T*>(to);
    if (k == kMostRows) return columns_of<kMostRows>(rows, n, acc);
    for (int r = 0; r < k; ++r) columns_of<1>(rows + r, n, acc);
  }

  static void merge(const void* from, int64_t n, void* to) {
    const T* other = static_cast<const T*>(from);
    each_accumulator<kNumbers>(n, static_cast<T*>(to), [&](auto part, V* numbers) HW_VECTOR_BODY {
      T tops[HWY_MAX_BYTES / sizeof(T)] = {}, sums[HWY_MAX_BYTES / sizeof(T)] = {};
      for (int64_t i = 0; i < V::lanes() && part.k + i < n; ++i)
        tops[i] = other[2 * (part.k + i)], sums[i] = other[2 * (part.k + i) + 1];
      const V top = larger(numbers[0], V::load(tops)), shift = shift_of(top);
      numbers[1] = numbers[1] * term(numbers[0], shift) + V::load(sums) * term(V::load(tops), shift);
      numbers[0] = top;
    });
  }
  static void clear(void* to, int64_t n) {
    T* acc = static_cast<T*>(to);
    for (int64_t c = 0; c < n; ++c) acc[2 * c] = kNone, acc[2 * c + 1] = T(0);
  }

  static void finish(const ReduceRecipe&, int64_t, const void* from, int64_t n, void* first, void*) {
    const T* acc = static_cast<const T*>(from);
    T* y = static_cast<T*>(first);
    for (int64_t c = 0; c < n; ++c) {
      const T top = acc[2 * c];
      y[c] = std::isfinite(top) ? std::log(acc[2 * c + 1]) + top : top;
    }
  }
};

template <ReduceKind kKind, template <class> class Loops, class T>
ReduceLoops made() {
  using L = Loops<T>;
  if constexpr (reduction_kept(kKind, std::is_same_v<T, float> ? DType::F32 : DType::F64))
    return {&L::row, nullptr, &L::columns, &L::merge, &L::clear, &L::finish, L::kNumbers};
  else
    return {};
}

ReduceLoops find_loops(ReduceKind kind, DType compute) {
  const bool narrow = compute == DType::F32;
  if (!narrow && compute != DType::F64) return {};
  constexpr ReduceKind kMoments = ReduceKind::Moments, kSums = ReduceKind::LogSumExp;
  if (kind == kMoments) return narrow ? made<kMoments, Moments, float>() : made<kMoments, Moments, double>();
  return narrow ? made<kSums, LogSumExp, float>() : made<kSums, LogSumExp, double>();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_loops);
ReduceLoops find_moment_loops(ReduceKind kind, DType compute) {
  return HWY_DYNAMIC_DISPATCH(find_loops)(kind, compute);
}
}  // namespace hw
#endif
