// What quantize_linear, dequantize_linear and fake_quantize ask of a kernel, and the arithmetic that all kernels agree on.
#pragma once

#include <cmath>

#include "kernels/kernel.h"

namespace hw {

struct QuantizeRequest {
  Dims shape, x, y, scale, zero;  // strides over the input's shape: 0 where one scale serves all
  DType x_dtype, y_dtype, scale_dtype, zero_dtype;
  int64_t low = 0, high = 0;  // of the integers; both 0 for dequantize_linear
  bool wide = false;          // computes in f64
  /// The elements in memory order as `rows` runs of `length` elements; run r has the scale r % channels.
  int64_t rows = 0, length = 0, channels = 1;
  bool dense = false;  // whether they lie so in memory, in input and output alike
};

QuantizeRequest read_quantize_request(const KernelRequest& request);

/// Element i of an integer tensor, as an exact double; nullptr: 0.
using ReadFn = double (*)(const void* data, int64_t i);
ReadFn find_read(DType dtype);

/// round(x / scale) + zero in [low, high], halves to even; NaN counts as 0.
template <class W>
double quantized(W x, W scale, double zero, double low, double high) {
  const W steps = std::nearbyint(x / scale);
  const double integer = (steps == steps ? static_cast<double>(steps) : 0.0) + zero;
  return integer < low ? low : integer > high ? high : integer;
}

}  // namespace hw
