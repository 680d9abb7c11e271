// Radix sort of (32-bit key, 32-bit place) words: least significant digit first, which keeps equal elements in order.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace hw {

constexpr int64_t kRadixLeast = 256;  // shorter rows are faster by comparison

/// Sorts e[0, n) by the upper halves; `spare` has room for n. Returns the one of the two that holds the result.
inline uint64_t* radix_sort(uint64_t* e, uint64_t* spare, int64_t n) {
  constexpr int kBits = 11, kPasses = 3;
  constexpr uint64_t kDigit = (1 << kBits) - 1;
  uint32_t counts[kPasses][1 << kBits];
  std::memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < n; ++i)
    for (int p = 0; p < kPasses; ++p) ++counts[p][e[i] >> (32 + p * kBits) & kDigit];
  for (int p = 0; p < kPasses; ++p) {
    const int shift = 32 + p * kBits;
    if (counts[p][e[0] >> shift & kDigit] == static_cast<uint64_t>(n)) continue;  // one digit only
    uint32_t at = 0;
    for (uint32_t& c : counts[p]) at += std::exchange(c, at);
    for (int64_t i = 0; i < n; ++i) spare[counts[p][e[i] >> shift & kDigit]++] = e[i];
    std::swap(e, spare);
  }
  return e;
}

/// Whether the integers of a row lie so close together that their distances from the least fit in 32 bits.
inline bool fits_32_bits(const int64_t* x, int64_t n, int64_t step, int64_t& least) {
  int64_t low = x[0], high = x[0];
  for (int64_t i = 1; i < n; ++i) {
    low = x[i * step] < low ? x[i * step] : low;
    high = x[i * step] > high ? x[i * step] : high;
  }
  least = low;
  return static_cast<uint64_t>(high) - static_cast<uint64_t>(low) <= 0xffffffffu;
}

}  // namespace hw
