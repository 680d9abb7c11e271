// Reads _conv2d_packed; where its elements lie; its activations.
#include "kernels/conv/packed.h"

#include <algorithm>
#include <cmath>

namespace hw {

bool read_activation(const std::string& text, ConvActivation& out) {
  constexpr std::pair<const char*, ConvActivation> names[] = {
      {"none", ConvActivation::None},       {"relu", ConvActivation::Relu}, {"clamp", ConvActivation::Clamp},
      {"sigmoid", ConvActivation::Sigmoid}, {"silu", ConvActivation::Silu}, {"hardswish", ConvActivation::Hardswish}};
  for (const auto& [name, activation] : names)
    if (text == name) {
      out = activation;
      return true;
    }
  return false;
}

double activate(ConvActivation activation, double x, double low, double high) {
  switch (activation) {
    case ConvActivation::Relu: return x < 0 ? 0 : x;
    case ConvActivation::Clamp: return x < low ? low : x > high ? high : x;
    case ConvActivation::Sigmoid: return 1 / (1 + std::exp(-x));
    case ConvActivation::Silu: return x / (1 + std::exp(-x));
    case ConvActivation::Hardswish: return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    default: return x;
  }
}

static int64_t blocked_at(int64_t channels, int64_t height, int64_t width, int64_t block, int64_t n, int64_t c,
                          int64_t row, int64_t column) {
  return (((n * (channels / block) + c / block) * height + row) * width + column) * block + c % block;
}

int64_t PackedConvRequest::input_at(int64_t n, int64_t c, int64_t row, int64_t column) const {
  return blocked_at(geometry.in_channels, geometry.in[1], geometry.in[2], block_in, n, c, row, column);
}

int64_t PackedConvRequest::output_at(int64_t n, int64_t c, int64_t row, int64_t column) const {
  return blocked_at(geometry.out_channels, geometry.out[1], geometry.out[2], block_out, n, c, row, column);
}

int64_t PackedConvRequest::weight_at(int64_t o, int64_t c, int64_t row, int64_t column) const {
  const ConvGeometry& g = geometry;
  const int64_t point = row * g.kernel[2] + column, points = g.kernel_size();
  if (depthwise) return (o / block_out * points + point) * block_out + o % block_out;
  const int64_t inner = c % block_in * block_out + o % block_out;
  if (block_in == 1) return ((o / block_out * points + point) * g.group_in() + c) * block_out + o % block_out;
  return ((o / block_out * in_blocks() + c / block_in) * points + point) * block_in * block_out + inner;
}

bool read_packed_conv(const KernelRequest& request, PackedConvRequest& r, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &w = request.inputs[1], &y = request.outputs[0];
  r = {};
  r.has_bias = request.inputs[2].given(), r.has_residual = request.inputs[3].given();
  for (const TensorSpec* t : {&x, &w, &request.inputs[2], &request.inputs[3], &y})
    if (t->given() && (t->dtype != DType::F32 || !t->contiguous())) {
      why_not = "serves contiguous f32";
      return false;
    }
  r.block_in = x.ndim() == 5 ? x.shape[4] : 1;
  r.block_out = y.shape[4];
  ConvGeometry& g = r.geometry;
  g.ndim = 2;
  g.batch = x.shape[0], g.in_channels = x.shape[1] * r.block_in, g.out_channels = y.shape[1] * r.block_out;
  r.depthwise = w.ndim() == 4;
  g.groups = r.depthwise ? g.in_channels : w.ndim() == 7 ? w.shape[0] : 1;
  const size_t kernel = w.ndim() <= 5 ? 1 : w.shape.size() - 4;
  for (size_t a = 1; a < 3; ++a) {
    g.in[a] = x.shape[a + 1], g.out[a] = y.shape[a + 1], g.kernel[a] = w.shape[kernel + a - 1];
    const auto of = [&](size_t attr) {
      const Dims& values = request.attrs[attr].ints();
      return values[values.size() == 1 ? 0 : a - 1];
    };
    g.stride[a] = of(0), g.padding[a] = of(1), g.dilation[a] = of(2);
  }
  r.low = request.attrs[4].f64(), r.high = request.attrs[5].f64();
  if (read_activation(request.attrs[3].text(), r.activation)) return true;
  why_not = "there is no activation '" + request.attrs[3].text() + "'";
  return false;
}

}  // namespace hw
