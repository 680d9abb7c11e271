// Interpolation along one axis: which input points each output point reads, and with what weights.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hw {

struct Taps {
  int64_t in = 1, out = 1, count = 1;
  std::vector<int64_t> index{0};  // [out][count]
  std::vector<double> weight{1};
};

/// `mode`: nearest, nearest-exact, linear (also for bilinear and trilinear) or bicubic; linear-antialias and bicubic-antialias
/// stretch the filter over all input points that an output point covers. `scale` is the factor the user gave, or 0.
/// Positions are computed in float for 32 bits and less, as torch does.
Taps make_taps(std::string_view mode, int64_t in, int64_t out, bool align_corners, double scale, bool single);

}  // namespace hw
