// What _conv2d_int8 asks of a kernel, and where a packed int8 weight of a convolution has its elements.
#pragma once

#include "kernels/conv/packed.h"
#include "kernels/linalg/int8_linear.h"

namespace hw {

/// Output channels of a dense packed weight that lie side by side, each with a quad of input channels; channels of a depthwise one.
constexpr int64_t kInt8Chunk = 8, kInt8Quad = 4, kInt8DepthChunk = 16;

/// y = activation(scale * conv(x - zero, W) + offset + residual) over images of bytes; f32, or quantised.
struct Int8Conv {
  PackedConvRequest images;  // geometry, blocks
  bool is_signed = false, depthwise = false;
  bool has_range = false;  // relu and clamp: results are limited
  float low = 0, high = 0;
  bool has_zero = false, has_offset = false, has_out_zero = false, has_residual_zero = false;
  DType residual = DType::F32;  // where there is one
  bool has_residual = false;
  DType out = DType::F32;
  bool keeps_floats = false;  // of _conv2d_int8_both: the result stands before what it is quantised to

  const ConvGeometry& geometry() const { return images.geometry; }
  int64_t taps() const { return geometry().kernel_size(); }
  int64_t quads() const { return (geometry().in_channels + kInt8Quad - 1) / kInt8Quad; }
  int64_t chunks() const { return geometry().out_channels / kInt8Chunk; }
  /// Of the element from input channel c to output channel o at kernel point `tap` (depthwise: c is 0).
  int64_t weight_at(int64_t o, int64_t c, int64_t tap) const {
    if (depthwise)
      return ((o / kInt8DepthChunk * ((taps() + 1) / 2) + tap / 2) * 2 + tap % 2) * kInt8DepthChunk +
             o % kInt8DepthChunk;
    return (((o / kInt8Chunk * taps() + tap) * quads() + c / kInt8Quad) * kInt8Chunk + o % kInt8Chunk) * kInt8Quad +
           c % kInt8Quad;
  }
};

/// Reads _conv2d_int8 and _conv2d_int8_both(input, packed, scale, zero?, offset?, residual?, residual_scale?, residual_zero?, out_scale?, out_zero?;
/// out_channels, kernel, stride, padding, dilation, activation); false with the reason where an operand has gaps.
bool read_int8_conv(const KernelRequest& request, Int8Conv& out, std::string& why_not);

/// What happens to a sum: the same steps in every kernel, so that they agree bit for bit.
struct Int8ConvFinish {
  Int8Finish number;
  const void* residual = nullptr;  // or null
  float residual_scale = 1;
  int32_t residual_zero = 0;
  float* floats = nullptr;  // of keeps_floats
  void* y = nullptr;
};
Int8ConvFinish int8_conv_finish(const Int8Conv& p, const KernelArgs& args);
/// The input's zero point of this launch.
int32_t int8_conv_zero(const Int8Conv& p, const KernelArgs& args);

}  // namespace hw
