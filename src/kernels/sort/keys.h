// Values as unsigned numbers in the same order, so that sorting compares integers.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "core/visit.h"

namespace hw {

/// Order-preserving: a < b exactly when key(a) < key(b); -0 equals 0; NaN is above everything. 32 bits for types of up to
/// four bytes, else 64.
template <class T>
auto sort_key(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return sort_key(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    if (std::isnan(v)) return static_cast<U>(~U{0});
    const U bits = std::bit_cast<U>(v == 0 ? T(0) : v), sign = U{1} << (sizeof(U) * 8 - 1);
    return static_cast<U>(bits & sign ? ~bits : bits | sign);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63);
  } else {
    return static_cast<uint32_t>(static_cast<int32_t>(v)) ^ (uint32_t{1} << 31);
  }
}

/// A key and where it came from; ordered by key, then by place.
struct WideEntry {
  uint64_t key;
  int64_t index;
  bool operator<(const WideEntry& o) const { return key != o.key ? key < o.key : index < o.index; }
};

/// For 32-bit keys: both in one word. Rows must have fewer than 2^32 elements.
template <class T>
using Entry = std::conditional_t<sizeof(sort_key(T{})) == 4, uint64_t, WideEntry>;

template <class T>
Entry<T> make_entry(T value, int64_t index, bool descending) {
  auto key = sort_key(value);
  if (descending) key = ~key;
  if constexpr (sizeof(key) == 4)
    return uint64_t{key} << 32 | static_cast<uint64_t>(index);
  else
    return {key, index};
}
inline int64_t entry_index(uint64_t e) { return static_cast<int64_t>(e & 0xffffffffu); }
inline int64_t entry_index(const WideEntry& e) { return e.index; }
inline bool same_key(uint64_t a, uint64_t b) { return a >> 32 == b >> 32; }
inline bool same_key(const WideEntry& a, const WideEntry& b) { return a.key == b.key; }

/// Real types only.
template <class F>
void visit_sortable(DType d, F&& f) {
  visit_dtype(d, [&]<class T>(Type<T> type) {
    if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) f(type);
  });
}

}  // namespace hw
