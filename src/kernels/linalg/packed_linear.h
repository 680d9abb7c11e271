// What _linear_packed asks of a kernel, and where a packed weight has its elements.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace hw {

enum class Activation : uint8_t { None, Relu, Gelu, GeluTanh, Tanh, Sigmoid, Silu };
constexpr int kActivations = 7;

/// Rows of the weight that lie side by side, as the instruction set in use likes it.
int64_t packed_width();

/// y = activation(x W^T + bias + residual), x [m, k] and y [m, n]. The columns of x and of the residual are contiguous.
struct PackedLinear {
  int64_t m = 0, n = 0, k = 0, width = 16;
  int64_t x_row = 0, residual_row = 0;
  bool has_bias = false, has_residual = false;
  Activation activation = Activation::None;
  /// The leading axes of x (of the residual) have no single stride, or its columns are not contiguous: copy it first.
  bool gather_x = false, gather_residual = false;

  int64_t panels() const { return (n + width - 1) / width; }
  /// Of weight element [o, i].
  int64_t packed_index(int64_t o, int64_t i) const { return (o / width * k + i) * width + o % width; }
};

/// Reads _linear_packed(input, packed, bias?, residual?; out_features, activation); false with the reason where an operand
/// other than the input and the residual is not contiguous.
bool read_packed_linear(const KernelRequest& request, PackedLinear& out, std::string& why_not);

}  // namespace hw
