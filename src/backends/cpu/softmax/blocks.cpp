// Softmax, log_softmax and their gradients of lines that lie side by side: memory is read and written in rows, the lines stay in a
// copy that fits the cache.
#include <limits>
#include <type_traits>

#include "backends/cpu/softmax/softmax.h"
#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/softmax/blocks.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "kernels/simd/exp_row.h"

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {  // rows.cpp has functions of the same names

/// body(k, rows) for [0, n), four rows at a time and then one by one; `rows` is a constant.
template <class Body>
HWY_INLINE void for_rows(int64_t n, Body body) {
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) body(k, std::integral_constant<int, 4>());
  for (; k < n; ++k) body(k, std::integral_constant<int, 1>());
}

/// A block with its scratch: two values per line, then its elements as W (not for gradients).
template <class T>
struct Columns {
  using W = Wide<T>;
  explicit HWY_INLINE Columns(const LineBlock& block)
      : b(block), top(static_cast<W*>(b.scratch)), sum(top + b.pitch), e(sum + b.pitch) {}
  HWY_INLINE const T* in(int i, int64_t k) const { return static_cast<const T*>(b.in[i]) + k * b.in_step[i]; }
  HWY_INLINE T* out(int64_t k) const { return static_cast<T*>(b.out[0]) + k * b.out_step[0]; }

  const LineBlock& b;
  W *top, *sum, *e;
};

/// e = x and top = the greatest of each line. NaN elements may be passed over.
template <class T>
HWY_INLINE void copy_with_max(const Columns<T>& c) {
  using W = Wide<T>;
  using V = Pack<W>;
  constexpr W kLowest = -std::numeric_limits<W>::infinity();
  const int64_t pitch = c.b.pitch;
  for (int64_t j = 0; j < pitch; j += V::lanes()) V(kLowest).store(c.top + j);
  for_rows(c.b.n, [&](int64_t k, auto rows) HW_VECTOR_BODY {
    const T* x = c.in(0, k);
    W* e = c.e + k * pitch;
    for_vectors(c.b.width, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      V top = V::load(c.top + at.k);
      for (int r = 0; r < rows; ++r) {
        const V p = at.load(x + r * c.b.in_step[0], kLowest);
        p.store(e + r * pitch + at.k);
        top = hn::Max(p.v, top.v);
      }
      top.store(c.top + at.k);
    });
  });
}

/// sum = finish(the sum of exp(e - top)) of each line; e = these exponentials if they are kept.
template <bool kKeep, class T, class Finish>
HWY_INLINE void sum_exp(const Columns<T>& c, Finish finish) {
  using V = Pack<Wide<T>>;
  const int64_t n = c.b.n, pitch = c.b.pitch;
  for (int64_t j = 0; j < c.b.width; j += V::lanes()) {
    const V top = V::load(c.top + j);
    V sums[4] = {V(0), V(0), V(0), V(0)};
    for_rows(n, [&](int64_t k, auto rows) HW_VECTOR_BODY {
      for (int r = 0; r < rows; ++r) {
        Wide<T>* e = c.e + (k + r) * pitch + j;
        const V p = exp_nonpositive(V::load(e) - top);
        if constexpr (kKeep) p.store(e);
        sums[r] = sums[r] + p;
      }
    });
    finish((sums[0] + sums[1]) + (sums[2] + sums[3])).store(c.sum + j);
  }
}

template <class T>
void softmax(const LineBlock& b) {
  using V = Pack<Wide<T>>;
  const Columns<T> c(b);
  copy_with_max(c);
  sum_exp<true>(c, [](V sum) HW_VECTOR_BODY { return V(1) / sum; });
  for (int64_t k = 0; k < b.n; ++k)
    for_vectors(b.width, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store(V::load(c.e + k * b.pitch + at.k) * V::load(c.sum + at.k), c.out(k));
    });
}

template <class T>
void log_softmax(const LineBlock& b) {
  using V = Pack<Wide<T>>;
  const Columns<T> c(b);
  copy_with_max(c);
  sum_exp<false>(c, [](V sum) HW_VECTOR_BODY { return log_positive(sum); });
  for (int64_t k = 0; k < b.n; ++k)
    for_vectors(b.width, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store((V::load(c.e + k * b.pitch + at.k) - V::load(c.top + at.k)) - V::load(c.sum + at.k), c.out(k));
    });
}

/// sum = the sum of term(at, k) over each line, `at` being a vector of lines.
template <class T, class Term>
HWY_INLINE void sum_lines(const Columns<T>& c, Term term) {
  using V = Pack<Wide<T>>;
  for (int64_t j = 0; j < c.b.pitch; j += V::lanes()) V(0).store(c.sum + j);
  for_rows(c.b.n, [&](int64_t k, auto rows) HW_VECTOR_BODY {
    for_vectors(c.b.width, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      V sum = term(at, k);
      if constexpr (decltype(rows)::value == 4) sum = (sum + term(at, k + 1)) + (term(at, k + 2) + term(at, k + 3));
      (V::load(c.sum + at.k) + sum).store(c.sum + at.k);
    });
  });
}

/// dx = y (dy - sum(dy y))
template <class T>
void softmax_grad(const LineBlock& b) {
  using W = Wide<T>;
  using V = Pack<W>;
  const Columns<T> c(b);
  sum_lines(c,
            [&](auto at, int64_t k) HW_VECTOR_BODY { return at.load(c.in(0, k), W(0)) * at.load(c.in(1, k), W(0)); });
  for (int64_t k = 0; k < b.n; ++k)
    for_vectors(b.width, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store(at.load(c.in(1, k), W(0)) * (at.load(c.in(0, k), W(0)) - V::load(c.sum + at.k)), c.out(k));
    });
}

/// dx = dy - exp(y) sum(dy)
template <class T>
void log_softmax_grad(const LineBlock& b) {
  using W = Wide<T>;
  using V = Pack<W>;
  const Columns<T> c(b);
  sum_lines(c, [&](auto at, int64_t k) HW_VECTOR_BODY { return at.load(c.in(0, k), W(0)); });
  for (int64_t k = 0; k < b.n; ++k)
    for_vectors(b.width, V::lanes(), [&](auto at, int) HW_VECTOR_BODY {
      at.store(at.load(c.in(0, k), W(0)) - exp_nonpositive(at.load(c.in(1, k), W(0))) * V::load(c.sum + at.k),
               c.out(k));
    });
}

template <class T>
LineBlockFn block_for(std::string_view op) {
  if (op == "softmax") return &softmax<T>;
  if (op == "log_softmax") return &log_softmax<T>;
  if (op == "_softmax_grad") return &softmax_grad<T>;
  if (op == "_log_softmax_grad") return &log_softmax_grad<T>;
  return nullptr;
}

LineBlockFn find_block_function(std::string_view op, DType d) {
  switch (d) {
    case DType::F16: return block_for<Half>(op);
    case DType::BF16: return block_for<BFloat16>(op);
    case DType::F32: return block_for<float>(op);
    case DType::F64: return block_for<double>(op);
    default: return nullptr;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
HWY_EXPORT(find_block_function);
LineBlockFn find_softmax_block(std::string_view op, DType d) {
  return HWY_DYNAMIC_DISPATCH(find_block_function)(op, d);
}
}  // namespace hw
#endif
