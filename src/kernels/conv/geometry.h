// What a convolution op asks of a kernel, with one to three spatial axes brought to three.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace hw {

/// x is [batch, in_channels, in...], w [out_channels, in_channels / groups, kernel...], y [batch, out_channels, out...].
/// Missing spatial axes stand in front with size 1.
struct ConvGeometry {
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int ndim = 0;  // spatial axes of the op

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  int64_t flops() const { return 2 * batch * out_channels * out_size() * group_in() * kernel_size(); }
  /// A product over channels alone: the kernel is one point that neither skips nor pads.
  bool pointwise() const;
};

/// Five strides (batch, channel, three spatial axes) of a tensor with `ndim` spatial axes.
struct Strides5 {
  int64_t s[5];
};
Strides5 strides5(const TensorSpec& spec);

enum class ConvPass { Forward, InputGrad, WeightGrad };

struct ConvRequest {
  ConvGeometry geometry;
  ConvPass pass = ConvPass::Forward;
  TensorSpec x, w, y;
  bool has_bias = false;
};

/// Reads convolution / conv1d / conv2d / conv3d (x, w, bias?; stride, padding, dilation, groups),
/// convolution_input_grad (dy, w; input_shape, stride, padding, dilation, groups) and
/// convolution_weight_grad (dy, x; weight_shape, stride, padding, dilation, groups).
bool read_convolution(const KernelRequest& request, ConvRequest& out, std::string& why_not);

/// Size of the output along one axis; negative when the kernel does not fit.
inline int64_t conv_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  int64_t span = in + 2 * padding - dilation * (kernel - 1) - 1;
  return span < 0 ? -1 : span / stride + 1;
}

}  // namespace hw
