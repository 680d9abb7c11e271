// From Philox words to numbers of distributions. Element i of a draw depends on (seed, draw, i) alone.
#pragma once

#include <cmath>
#include <numbers>

#include "core/philox.h"

namespace hw {

/// The identity of a draw.
struct Draw {
  uint64_t seed, number;
  int64_t first = 0;  // of the whole draw's elements, that with which this part begins; a multiple of four

  /// Four elements share a block of four words.
  uint32_t word(int64_t i) const {
    return philox(seed, static_cast<uint64_t>(first + i) >> 2, number)[static_cast<size_t>(i & 3)];
  }
  /// Two elements share a block.
  uint64_t wide(int64_t i) const {
    const auto w = philox(seed, static_cast<uint64_t>(first + i) >> 1, number);
    const size_t at = static_cast<size_t>(i & 1) * 2;
    return uint64_t{w[at + 1]} << 32 | w[at];
  }
  float unit_f32(int64_t i) const { return unit_float(word(i)); }
  double unit_f64(int64_t i) const { return static_cast<double>(wide(i) >> 11) * 0x1p-53; }
  /// (0, 1]
  double positive_f64(int64_t i) const { return 1.0 - unit_f64(i); }

  /// Box-Muller: a pair of neighbours shares a radius and an angle.
  float normal_f32(int64_t i) const {
    const auto w = philox(seed, static_cast<uint64_t>(first + i) >> 2, number);
    const size_t at = static_cast<size_t>(i & 2);
    const float radius = std::sqrt(-2 * std::log(1 - unit_float(w[at])));
    const float angle = 2 * std::numbers::pi_v<float> * unit_float(w[at + 1]);
    return radius * (i & 1 ? std::sin(angle) : std::cos(angle));
  }
  double normal_f64(int64_t i) const {
    const auto w = philox(seed, static_cast<uint64_t>(first + i) >> 1, number);
    const double radius = std::sqrt(-2 * std::log(1 - unit_double(w[0], w[1])));
    const double angle = 2 * std::numbers::pi * unit_double(w[2], w[3]);
    return radius * (i & 1 ? std::sin(angle) : std::cos(angle));
  }
  /// Ranges up to here take one word an element; the bias stays below 2^-16 of a probability.
  static constexpr uint64_t kNarrowRange = 1 << 16;
  /// [0, range), from the high half of a product.
  uint64_t below(int64_t i, uint64_t range) const {
    if (range <= kNarrowRange) return word(i) * range >> 32;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(wide(i)) * range >> 64);
  }
};

}  // namespace hw
