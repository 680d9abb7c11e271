// What _linear_int8 asks of a kernel, and where a packed int8 weight has its elements.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace hw {

/// Rows of an int8 weight that lie side by side, as the instruction set in use likes it.
int64_t int8_width();

/// y = activation(scale * x W^T + offset) over x [m, k] of bytes and W [n, k] of int8; f32, or quantised.
struct Int8Linear {
  int64_t m = 0, n = 0, k = 0, width = 16;
  bool is_signed = false;  // x is int8
  bool has_offset = false, has_out_zero = false, relu = false;
  DType out = DType::F32;

  int64_t pairs() const { return (k + 1) / 2; }
  int64_t panels() const { return (n + width - 1) / width; }
  /// Of weight element [o, i].
  int64_t packed_index(int64_t o, int64_t i) const {
    return ((o / width * pairs() + i / 2) * width + o % width) * 2 + i % 2;
  }
};

/// Reads _linear_int8(input, packed, scale, offset?, out_scale?, out_zero?; out_features, activation); false with the reason where an
/// operand is not contiguous.
bool read_int8_linear(const KernelRequest& request, Int8Linear& out, std::string& why_not);

/// What happens to a sum: the same steps in every kernel, so that they agree bit for bit.
struct Int8Finish {
  const float* scale = nullptr;
  const float* offset = nullptr;  // or null
  float out_scale = 0;            // 0: no quantisation
  float low = 0, high = 0, zero = 0;
};
/// Of the launch's operands.
Int8Finish int8_finish(const Int8Linear& p, const KernelArgs& args);

}  // namespace hw
