// What _max_pool2d_blocked asks of a kernel.
#pragma once

#include <algorithm>

#include "kernels/kernel.h"

namespace hw {

struct BlockedPoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  /// The points of a window that lie in the image: first, and one past the last.
  void window(int64_t o, int64_t& first, int64_t& last) const {
    const int64_t start = o * stride - padding;
    first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    last = std::min(kernel, (in - start + dilation - 1) / dilation);
  }
  int64_t at(int64_t o, int64_t point) const { return o * stride - padding + point * dilation; }
};

/// Planes [height, width, block], contiguous.
struct BlockedPool {
  int64_t planes = 0, block = 8;
  BlockedPoolAxis axis[2];
  int64_t in_size() const { return axis[0].in * axis[1].in * block; }
};

/// False with the reason where an operand has gaps.
bool read_blocked_pool(const KernelRequest& request, BlockedPool& out, std::string& why_not);

}  // namespace hw
