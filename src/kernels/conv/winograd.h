// 3x3 convolution of stride 1 or 2 over tiles of the output, after Winograd: sizes, interpolation points, and which tile pays.
#pragma once

#include "kernels/conv/geometry.h"

namespace hw {

/// F(tile x tile, 3 x 3) of S. Winograd, "Arithmetic complexity of computations" (1980), for convolutions as Lavin and Gray,
/// "Fast algorithms for convolutional neural networks" (2016): Y = A^T [ (G g G^T) * (B^T d B) ] A, summed over channels
/// between the transforms, so that each of the (tile + 2)^2 products is a matrix product over channels.
///
/// The points of F(4 x 4) are 0, +-11/16, +-11/8 and infinity, whose error is a fifth of that of the usual 0, +-1, +-2. On
/// normal data and 64 channels the largest error is 4e-7 of the largest result with tile 2 and 1.5e-6 with tile 4; it grows
/// with the square root of the channels. kWinogradError bounds it up to 2048 channels and is what the tests hold.
constexpr double kWinogradNear = 11.0 / 16, kWinogradFar = 11.0 / 8;

/// With stride 2 the taps of an axis fall into two kinds: the outer two read every other pixel, and are a kernel of two taps and stride 1
/// on these; the middle one reads the pixels between. Four outputs take the five products of F(4, 2), with the points +-1/2, +-5/4 and
/// infinity, and four plain ones: 81 products for 4 x 4 outputs instead of 144. The plain ones share a weight, so that weights are packed
/// as for stride 1. The error is that of tile 2.
constexpr double kStridedNear = 0.5, kStridedFar = 1.25;

constexpr double winograd_error(int64_t tile, int64_t stride = 1) {
  return stride == 2 ? 6e-6 : tile == 2 ? 3e-6 : 2e-5;
}

/// Channels that lie side by side in transformed operands, whatever the instruction set: packed weights are
/// [ceil(out_channels / 16), (tile + 2)^2, in_channels rounded up to 4, 16], with zeros where there are no channels.
constexpr int64_t kWinogradPanel = 16;

/// The image is [batch, channels, height, width], or [batch, channels / block, height, width, block].
struct WinogradSizes {
  int64_t tile = 4, batch = 0, in_channels = 0, out_channels = 0;
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0, pad_h = 0, pad_w = 0;
  int64_t block = 1, stride = 1;

  int64_t tiles_y() const { return (out_h + tile - 1) / tile; }
  int64_t tiles_x() const { return (out_w + tile - 1) / tile; }
  int64_t tiles() const { return batch * tiles_y() * tiles_x(); }
  int64_t products() const { return stride == 1 ? weights() : (2 * tile + 1) * (2 * tile + 1); }
  int64_t weights() const { return (tile + 2) * (tile + 2); }
  int64_t window() const { return (tile - 1) * stride + 3; }  // pixels along one axis of a tile's input
  int64_t in_blocks() const { return (in_channels + kWinogradPanel - 1) / kWinogradPanel; }
  int64_t panels() const { return (out_channels + kWinogradPanel - 1) / kWinogradPanel; }
  int64_t packed_k() const { return (in_channels + 3) / 4 * 4; }
  int64_t packed_size() const { return panels() * weights() * packed_k() * kWinogradPanel; }
  /// Of weight 0; the others are packed_k() * 16 apart.
  int64_t packed_index(int64_t out_channel, int64_t in_channel) const {
    return (out_channel / kWinogradPanel * weights() * packed_k() + in_channel) * kWinogradPanel +
           out_channel % kWinogradPanel;
  }
};

/// Where the weight of (out channel, in channel, row, column) lies, in elements; steps are negative when it is flipped.
struct WinogradWeights {
  int64_t out_channels = 0, in_channels = 0, offset = 0, out_step = 0, in_step = 0, row_step = 0, column_step = 0;
  int64_t stride = 1;  // of the convolution
};

/// The sizes and weights of a 3x3 convolution, or of its gradient for the input, which is one with flipped weights. False with
/// the reason unless stride, dilation and groups are 1, the dtype is f32 and the images are contiguous.
bool winograd_sizes(const ConvRequest& request, int64_t tile, WinogradSizes& sizes, WinogradWeights& weights,
                    std::string& why_not);

/// Whether this beats a direct convolution although the weights are transformed for one call.
bool winograd_pays(const WinogradSizes& sizes);

/// The tile with which this beats a direct convolution when the weights are packed ahead; 0 for none. Of `sizes` the tile and the
/// input's height and width are not read.
int64_t winograd_packed_tile(WinogradSizes sizes);

struct WinogradRequest {
  WinogradSizes sizes;
  bool has_bias = false, has_residual = false;
  double low = 0, high = 0;  // between which results are brought
};

/// Reads _conv2d_winograd (input, packed, bias?, residual?; out_channels, tile, padding, low, high, stride); false with the reason where an operand
/// is not contiguous.
bool read_winograd(const KernelRequest& request, WinogradRequest& out, std::string& why_not);
/// Reads _winograd_pack_weight (weight; tile, stride), however the weight lies; returns the tile.
int64_t read_winograd_pack(const KernelRequest& request, WinogradWeights& out);

/// The transforms along one axis, in double: rows of B^T (products by window), G (tile + 2 by 3) and A^T (tile by products). Product i takes
/// the weight min(i, tile + 1).
struct WinogradMatrices {
  int products = 0, window = 0;
  double input[9][9] = {}, weight[6][3] = {}, output[4][9] = {};
};
WinogradMatrices winograd_matrices(int64_t tile, int64_t stride = 1);

}  // namespace hw
