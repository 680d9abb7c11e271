// The loops of reduce.h: blocks that stay in the first cache, so that any number of sources is one pass over memory.
#include "comm/reduce.h"

#include <algorithm>
#include <cstring>

#include "core/visit.h"

namespace hw {

void append_text(std::string& out, Reduce reduce) {
  constexpr const char* names[] = {"sum", "max", "min", "product", "average"};
  out.append(names[static_cast<int>(reduce)]);
}

std::string cannot_reduce(DType dtype, Reduce reduce) {
  if (dtype == DType::None) return "there is no dtype";
  if (is_complex(dtype) && (reduce == Reduce::Max || reduce == Reduce::Min))
    return text("complex numbers have no order: ", reduce, " of ", dtype);
  if (reduce == Reduce::Average && !is_inexact(dtype))
    return text("an average of ", dtype, " would be cut off: reduce with sum, or convert to a floating dtype");
  return {};
}

namespace {

constexpr int64_t kBlock = 1024;

template <Reduce R, class A>
inline A join(A a, A b) {
  if constexpr (R == Reduce::Sum || R == Reduce::Average) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  } else if constexpr (R == Reduce::Product) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  } else if constexpr (R == Reduce::Max) {
    return (a > b) | (a != a) ? a : b;  // b also when b is NaN
  } else {
    return (a < b) | (a != a) ? a : b;
  }
}

template <class T, class A, Reduce R>
void reduce_block(T* out, std::span<const void* const> sources, int64_t at, int64_t n) {
  A sum[kBlock];
  const T* first = static_cast<const T*>(sources[0]) + at;
  for (int64_t i = 0; i < n; ++i) sum[i] = static_cast<A>(first[i]);
  for (size_t s = 1; s < sources.size(); ++s) {
    const T* next = static_cast<const T*>(sources[s]) + at;
    for (int64_t i = 0; i < n; ++i) sum[i] = join<R, A>(sum[i], static_cast<A>(next[i]));
  }
  if constexpr (R == Reduce::Average) {
    A ranks = static_cast<A>(static_cast<float>(sources.size()));
    for (int64_t i = 0; i < n; ++i) sum[i] = sum[i] / ranks;
  }
  for (int64_t i = 0; i < n; ++i) out[at + i] = static_cast<T>(sum[i]);
}

template <class T, class A, Reduce R>
void reduce_all(void* out, std::span<const void* const> sources, int64_t count) {
  T* to = static_cast<T*>(out);
  if constexpr (std::is_same_v<T, A> && R != Reduce::Average) {
    if (sources.size() == 2) {  // the common case needs no block in between
      const T *a = static_cast<const T*>(sources[0]), *b = static_cast<const T*>(sources[1]);
      for (int64_t i = 0; i < count; ++i) to[i] = join<R, T>(a[i], b[i]);
      return;
    }
  }
  for (int64_t at = 0; at < count; at += kBlock) reduce_block<T, A, R>(to, sources, at, std::min(kBlock, count - at));
}

template <class T>
void reduce_type(void* out, std::span<const void* const> sources, int64_t count, Reduce reduce) {
  using A = Accumulate<T>;
  switch (reduce) {
    case Reduce::Sum: return reduce_all<T, A, Reduce::Sum>(out, sources, count);
    case Reduce::Product: return reduce_all<T, A, Reduce::Product>(out, sources, count);
    case Reduce::Average:
      if constexpr (!std::is_integral_v<T>) reduce_all<T, A, Reduce::Average>(out, sources, count);
      return;
    case Reduce::Max:
      if constexpr (requires(A a) { a < a; }) reduce_all<T, A, Reduce::Max>(out, sources, count);
      return;
    case Reduce::Min:
      if constexpr (requires(A a) { a < a; }) reduce_all<T, A, Reduce::Min>(out, sources, count);
      return;
  }
}

}  // namespace

void reduce_elements(void* out, std::span<const void* const> sources, int64_t count, DType dtype, Reduce reduce) {
  if (dtype == DType::Bool) {  // bytes of 0 and 1: any is their maximum, all their minimum
    dtype = DType::U8;
    if (reduce == Reduce::Sum) reduce = Reduce::Max;
    if (reduce == Reduce::Product) reduce = Reduce::Min;
  }
  if (sources.size() == 1 && reduce != Reduce::Average) {
    if (out != sources[0] && count) std::memmove(out, sources[0], static_cast<size_t>(count * dtype_size(dtype)));
    return;
  }
  visit_dtype(dtype, [&]<class T>(Type<T>) {
    if constexpr (!std::is_same_v<T, bool>) reduce_type<T>(out, sources, count, reduce);
  });
}

}  // namespace hw
