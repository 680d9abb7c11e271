// Direct convolution of blocked images by packed weights, a piece of the output at a time. Contiguous f32.
#pragma once

#include "kernels/conv/packed.h"

namespace hw {

/// Output channels that are computed together; blocks are made of such chunks.
constexpr int64_t kChunkChannels = 8;

/// What all pieces share. Steps are in floats.
struct PackedConvPlan {
  PackedConvRequest request;
  int64_t x_row = 0, x_column = 0, x_channel = 0, x_block = 0;  // of the input
  int64_t w_channel = 0, w_point = 0, w_block = 0;              // of the weight
  int64_t in_blocks = 0, in_channels = 0;                       // of a group, and of a block
};

/// Output points [begin, end) of an image for the chunks [first, last) of a group; depthwise: columns of one row, chunks of all channels.
struct PackedConvPiece {
  int64_t image = 0, group = 0, row = 0, begin = 0, end = 0, first = 0, last = 0;
};

struct PackedConvData {
  const float *x = nullptr, *w = nullptr, *bias = nullptr, *residual = nullptr;
  float* y = nullptr;
  float* scratch = nullptr;  // of one thread, for packed_conv_scratch() bytes
};

struct PackedConvRoutines {
  void (*run)(const PackedConvPlan& plan, const PackedConvData& data, const PackedConvPiece& piece);
  int64_t chunks;  // that are best given together
  int64_t points;  // likewise
};
PackedConvRoutines packed_conv_routines();

/// Sums of a panel and offsets of kernel points, for pieces of at most so many points. Whole cache lines.
inline int64_t packed_conv_scratch(const PackedConvRoutines& r, int64_t points, int64_t kernel_size) {
  return (points * (r.chunks * kChunkChannels * 4 + kernel_size * 8) + 63) / 64 * 64;
}

}  // namespace hw
