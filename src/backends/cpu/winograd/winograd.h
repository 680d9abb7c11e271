// Winograd convolution of contiguous f32 images, for each instruction set: the three steps over a range of tiles.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/conv/winograd.h"

namespace hw {

/// How the tiles are cut so that what lies between the steps stays in the cache. Tiles are counted along x, then y, then batch.
struct WinogradPlan {
  WinogradSizes sizes;
  float low = -INFINITY, high = INFINITY;  // between which results are brought
  int64_t tiles_each = 1,
          panels_each = 1;  // most tiles of one range, and panels of 16 output channels multiplied at a time

  // Elements between two products of transformed inputs and outputs; an odd number of lines, so that they fall on all sets.
  int64_t input_step() const { return sizes.in_blocks() * tiles_each * kWinogradPanel + kWinogradPanel; }
  int64_t output_step() const { return panels_each * tiles_each * kWinogradPanel + kWinogradPanel; }
  int64_t input_floats() const { return sizes.products() * input_step(); }
  int64_t output_floats() const { return sizes.products() * output_step(); }
  /// Rows of one line of tiles with 16 channels side by side.
  int64_t strip_floats() const {
    const int64_t across = (std::min(tiles_each, sizes.tiles_x()) - 1) * sizes.tile * sizes.stride + sizes.window();
    return sizes.window() * across * kWinogradPanel;
  }
};

struct WinogradRange {
  int64_t first = 0, last = 0;  // tiles
  int64_t count() const { return last - first; }
};

/// What is added to the sums; either may be null.
struct WinogradAfter {
  const float *bias = nullptr, *residual = nullptr;  // the residual is laid out as the result
};

/// Where one thread works; the strip has room for a second one.
struct WinogradScratch {
  float *input = nullptr, *output = nullptr, *strip = nullptr;
};

struct WinogradRoutines {
  /// Panels [first, last) of the transformed weights.
  void (*pack)(int64_t tile, const WinogradWeights& weights, const float* data, int64_t first, int64_t last,
               float* packed);
  /// Input channels [16 first, 16 last) of the tiles in `range`, to scratch.input.
  void (*transform)(const WinogradPlan& plan, const float* x, WinogradRange range, int64_t first, int64_t last,
                    const WinogradScratch& scratch);
  /// Panels [first, last) of the results of the tiles in `range`, from scratch.input.
  void (*multiply)(const WinogradPlan& plan, const float* packed, const WinogradAfter& after, float* y,
                   WinogradRange range, int64_t first, int64_t last, const WinogradScratch& scratch);
};

/// For the instruction set in use.
WinogradRoutines winograd_routines();

}  // namespace hw
