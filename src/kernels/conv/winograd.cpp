// Winograd's matrices from their points, and which convolutions they serve.
#include "kernels/conv/winograd.h"

#include <algorithm>

namespace hw {

bool winograd_sizes(const ConvRequest& r, int64_t tile, WinogradSizes& s, WinogradWeights& w, std::string& why_not) {
  const ConvGeometry& g = r.geometry;
  if (r.pass == ConvPass::WeightGrad || r.x.dtype != DType::F32 || !r.x.contiguous() || !r.y.contiguous()) {
    why_not = "serves contiguous f32";
    return false;
  }
  if (g.ndim != 2 || g.kernel[1] != 3 || g.kernel[2] != 3 || g.groups != 1) {
    why_not = "serves kernels of 3 by 3 over all channels";
    return false;
  }
  const bool forward = r.pass == ConvPass::Forward;
  for (int a = 1; a < 3; ++a)
    if (g.stride[a] != 1 || g.dilation[a] != 1 || g.padding[a] < 0 || (!forward && g.padding[a] > 2)) {
      why_not = "serves a stride and dilation of 1";
      return false;
    }
  s = {};
  s.tile = tile, s.batch = g.batch;
  const auto& step = r.w.strides;
  if (forward) {
    s.in_channels = g.in_channels, s.out_channels = g.out_channels;
    s.in_h = g.in[1], s.in_w = g.in[2], s.out_h = g.out[1], s.out_w = g.out[2];
    s.pad_h = g.padding[1], s.pad_w = g.padding[2];
    w = {s.out_channels, s.in_channels, 0, step[0], step[1], step[2], step[3], 1};
  } else {
    s.in_channels = g.out_channels, s.out_channels = g.in_channels;
    s.in_h = g.out[1], s.in_w = g.out[2], s.out_h = g.in[1], s.out_w = g.in[2];
    s.pad_h = 2 - g.padding[1], s.pad_w = 2 - g.padding[2];
    w = {s.out_channels, s.in_channels, 2 * step[2] + 2 * step[3], step[1], step[0], -step[2], -step[3], 1};
  }
  return true;
}

bool winograd_pays(const WinogradSizes& s) {
  const double channels = static_cast<double>(s.in_channels) * static_cast<double>(s.out_channels);
  const auto tiles = static_cast<double>(s.tiles()), products = static_cast<double>(s.products());
  // Cycles with vectors of 8, as measured: multiplications, transforms of tiles, transforms of weights.
  const double direct = 9.0 * static_cast<double>(s.batch * s.out_h * s.out_w) * channels / 13;
  const double multiply = products * tiles * channels / 14;
  const double tile_work = 0.72 * products * tiles * static_cast<double>(s.in_channels + s.out_channels);
  const double weight_work = 0.5 * products * channels;
  return direct > 1e5 && 1.1 * (multiply + tile_work + weight_work) < direct;
}

int64_t winograd_packed_tile(WinogradSizes s) {
  const double channels = static_cast<double>(s.in_channels) * static_cast<double>(s.out_channels);
  double least = 9.0 * static_cast<double>(s.batch * s.out_h * s.out_w) * channels / 12;
  if (least < 1e5) return 0;
  int64_t best = 0;
  for (int64_t tile : {2, 4}) {
    if (s.stride == 2 && tile != 4) continue;
    s.tile = tile;
    const auto tiles = static_cast<double>(s.tiles()), products = static_cast<double>(s.products());
    // Cycles: products, or their weights from memory; transforms of tiles.
    const double from_memory = static_cast<double>(s.weights()) * channels * 4 / 4;
    const double multiply = std::max(products * tiles * channels / 13, from_memory);
    const double cycles = multiply + 0.72 * products * tiles * static_cast<double>(s.in_channels + s.out_channels);
    if (cycles < least) least = cycles, best = tile;
  }
  return best;
}

bool read_winograd(const KernelRequest& request, WinogradRequest& out, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &packed = request.inputs[1], &y = request.outputs[0];
  out = {};
  WinogradSizes& s = out.sizes;
  s.block = x.ndim() == 5 ? x.shape[4] : 1;
  s.batch = x.shape[0], s.in_channels = x.shape[1] * s.block, s.in_h = x.shape[2], s.in_w = x.shape[3];
  s.out_h = y.shape[2], s.out_w = y.shape[3];
  s.out_channels = request.attrs[0].i64(), s.tile = request.attrs[1].i64();
  const Dims& padding = request.attrs[2].ints();
  s.pad_h = padding[0], s.pad_w = padding[padding.size() - 1];
  out.low = request.attrs[3].f64(), out.high = request.attrs[4].f64();
  s.stride = request.attrs[5].i64();
  out.has_bias = request.inputs.size() > 2 && request.inputs[2].given();
  out.has_residual = request.inputs.size() > 3 && request.inputs[3].given();
  for (const TensorSpec* t : {&x, &packed, &y, &request.inputs[out.has_residual ? 3 : 0]})
    if (t->dtype != DType::F32 || !t->contiguous()) {
      why_not = "serves contiguous f32";
      return false;
    }
  if (out.has_bias && !request.inputs[2].contiguous()) {
    why_not = "the bias has gaps";
    return false;
  }
  return true;
}

int64_t read_winograd_pack(const KernelRequest& request, WinogradWeights& out) {
  const TensorSpec& w = request.inputs[0];
  out = {w.shape[0], w.shape[1], 0, w.strides[0], w.strides[1], w.strides[2], w.strides[3], request.attrs[1].i64()};
  return request.attrs[0].i64();
}

/// Coefficients of the product of (x - root), lowest power first; c holds zeros.
static void polynomial(const double* roots, int count, double* c) {
  c[0] = 1;
  for (int i = 0; i < count; ++i)
    for (int k = i + 1; k >= 0; --k) c[k] = (k > 0 ? c[k - 1] : 0.0) - roots[i] * c[k];
}

/// F(outputs, taps) from outputs + taps - 2 finite points and infinity.
static WinogradMatrices matrices_of(const double* points, int outputs, int taps) {
  WinogradMatrices m;
  const int finite = outputs + taps - 2;
  m.products = m.window = finite + 1;
  for (int i = 0; i < finite; ++i) {
    double others[4], scale = 1;
    for (int j = 0, n = 0; j < finite; ++j)
      if (j != i) others[n++] = points[j], scale *= points[i] - points[j];
    polynomial(others, finite - 1, m.input[i]);
    for (int k = 0; k < taps; ++k) m.weight[i][k] = (k == 0 ? 1 : k == 1 ? points[i] : points[i] * points[i]) / scale;
    double power = 1;
    for (int k = 0; k < outputs; ++k, power *= points[i]) m.output[k][i] = power;
  }
  polynomial(points, finite, m.input[finite]);
  m.weight[finite][taps - 1] = 1;
  m.output[outputs - 1][finite] = 1;
  return m;
}

WinogradMatrices winograd_matrices(int64_t tile, int64_t stride) {
  const double four[] = {0, kWinogradNear, -kWinogradNear, kWinogradFar, -kWinogradFar}, two[] = {0, 1, -1};
  if (stride == 1) return matrices_of(tile == 2 ? two : four, static_cast<int>(tile), 3);
  const double strided[] = {kStridedNear, -kStridedNear, kStridedFar, -kStridedFar};
  const WinogradMatrices outer = matrices_of(strided, 4, 2);
  WinogradMatrices m;
  m.products = m.window = 9;
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 5; ++k) m.input[i][2 * k] = outer.input[i][k];
    for (int k = 0; k < 4; ++k) m.output[k][i] = outer.output[k][i];
    m.weight[i][0] = outer.weight[i][0], m.weight[i][2] = outer.weight[i][1];
  }
  for (int k = 0; k < 4; ++k) m.input[5 + k][2 * k + 1] = m.output[k][5 + k] = 1;
  m.weight[5][1] = 1;
  return m;
}

}  // namespace hw
