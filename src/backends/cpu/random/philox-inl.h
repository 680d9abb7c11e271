// Philox by SIMD: one block of four words in each lane. Included once per instruction set.
#include <cstring>

#include "core/philox.h"
#include "kernels/simd/targets.h"
// After targets.h.
#include "hwy/highway.h"

#if defined(HW_BACKENDS_CPU_RANDOM_PHILOX_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HW_BACKENDS_CPU_RANDOM_PHILOX_H
#undef HW_BACKENDS_CPU_RANDOM_PHILOX_H
#else
#define HW_BACKENDS_CPU_RANDOM_PHILOX_H
#endif

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
using U32 = hn::ScalableTag<uint32_t>;

/// High and low halves of x * m.
HWY_INLINE void multiply_wide(hn::Vec<U32> x, hn::Vec<U32> m, hn::Vec<U32>& high, hn::Vec<U32>& low) {
  const U32 d;
  const hn::Repartition<uint64_t, U32> d64;
  const auto even = hn::MulEven(x, m);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, x))), m);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}
#endif

/// out[0, 4 * blocks) = the words of blocks first, first + 1, ... of a draw.
inline void fill_words(uint64_t seed, uint64_t draw, uint64_t first, int64_t blocks, uint32_t* out) {
  int64_t b = 0;
#if HWY_TARGET != HWY_SCALAR
  const U32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  for (; b + lanes <= blocks; b += lanes) {
    const uint64_t at = first + static_cast<uint64_t>(b);
    const uint32_t low = static_cast<uint32_t>(at);
    if (low > 0xffffffffu - static_cast<uint32_t>(lanes)) break;  // the upper half of the counter changes in here
    auto c0 = hn::Iota(d, low), c1 = hn::Set(d, static_cast<uint32_t>(at >> 32));
    auto c2 = hn::Set(d, static_cast<uint32_t>(draw)), c3 = hn::Set(d, static_cast<uint32_t>(draw >> 32));
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      hn::Vec<U32> high0, low0, high1, low1;
      multiply_wide(c0, m0, high0, low0);
      multiply_wide(c2, m1, high1, low1);
      const auto n0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0)), n2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
      c1 = low1;
      c3 = low0;
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, out + 4 * b);
  }
#endif
  for (; b < blocks; ++b) {
    const auto w = philox(seed, first + static_cast<uint64_t>(b), draw);
    std::memcpy(out + 4 * b, w.data(), 16);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
#endif
