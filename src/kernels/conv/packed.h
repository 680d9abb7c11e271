// What _conv2d_packed asks of a kernel: sizes, layouts, and what is done to a sum before it is stored.
#pragma once

#include "kernels/conv/geometry.h"

namespace hw {

enum class ConvActivation : uint8_t { None, Relu, Clamp, Sigmoid, Silu, Hardswish };

/// False if the text names none.
bool read_activation(const std::string& text, ConvActivation& out);
double activate(ConvActivation activation, double x, double low, double high);

struct PackedConvRequest {
  ConvGeometry geometry;
  int64_t block_in = 1, block_out = 8;  // channels side by side; 1: a plain image
  bool depthwise = false, has_bias = false, has_residual = false;
  ConvActivation activation = ConvActivation::None;
  double low = 0, high = 0;

  int64_t in_blocks() const { return geometry.group_in() / block_in; }
  int64_t out_blocks() const { return geometry.group_out() / block_out; }
  /// Where element (n, c, row, column) of the input and of the output lies.
  int64_t input_at(int64_t n, int64_t c, int64_t row, int64_t column) const;
  int64_t output_at(int64_t n, int64_t c, int64_t row, int64_t column) const;
  /// The weight from input channel c of the group of output channel o.
  int64_t weight_at(int64_t o, int64_t c, int64_t row, int64_t column) const;
};

/// Reads _conv2d_packed (input, weight, bias?, residual?; stride, padding, dilation, activation, low, high), whose shapes fit
/// together. False with the reason where an operand has gaps.
bool read_packed_conv(const KernelRequest& request, PackedConvRequest& out, std::string& why_not);

}  // namespace hw
