// The windows of a pooling op: for each spatial axis and output index, which input points it sees.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hw {

/// Along one axis, output i sees begin[i], begin[i] + step, ... count[i] points, all inside the input; `padded[i]` also counts
/// the padding that the window covers.
struct PoolAxis {
  int64_t in = 1, out = 1, step = 1;
  std::vector<int64_t> begin{0}, count{1}, padded{1};
};

/// Pooling over the last `ndim` axes of x, brought to three; all axes before them are planes.
struct PoolWindows {
  PoolAxis axis[3];
  int64_t planes = 1;
  int ndim = 0;
  bool count_include_pad = true;
  double divisor_override = 0;  // 0: none

  int64_t in_size() const { return axis[0].in * axis[1].in * axis[2].in; }
  int64_t out_size() const { return axis[0].out * axis[1].out * axis[2].out; }
  /// What the sum of an average window is divided by.
  double divisor(int64_t o0, int64_t o1, int64_t o2) const;
};

/// Reads max_pool(x; kernel_size, stride, padding, dilation, ceil_mode), max_pool_grad(dy, indices; input_shape,
/// spatial axes Int),
/// avg_pool(x; kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override), avg_pool_grad(dy; input_shape, the
/// same), adaptive_avg_pool(x; output_size), adaptive_avg_pool_grad(dy; input_shape, spatial axes Int) and adaptive_max_pool(x; output_size).
/// For the gradient of a max pool only sizes are set: the indices say the rest.
PoolWindows read_windows(const KernelRequest& request);

/// Size of the output along one axis, as in torch: with ceil_mode the last window must begin inside input or left padding.
int64_t pool_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

}  // namespace hw
