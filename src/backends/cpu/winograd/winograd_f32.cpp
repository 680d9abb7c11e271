// The steps of a Winograd convolution in f32, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/winograd/winograd_f32.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include "backends/cpu/winograd/winograd.h"

#include "backends/cpu/winograd/transform-inl.h"  // the vector type of the other two

#include "backends/cpu/winograd/image-inl.h"

#include "backends/cpu/winograd/pack-inl.h"  // uses image-inl.h
#include "backends/cpu/winograd/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
namespace {

/// The part of a range that lies in one line of tiles.
struct Line {
  int64_t image, tile_y, tile_x, count;
  int64_t at;  // its first tile's index in the range
};

template <class F>
HWY_INLINE void each_line(const WinogradSizes& s, WinogradRange range, F body) {
  const int64_t across = s.tiles_x(), down = s.tiles_y();
  for (int64_t t = range.first; t < range.last;) {
    const int64_t line = t / across, x = t % across, count = std::min(across - x, range.last - t);
    body(Line{line / down, line % down, x, count, t - range.first});
    t += count;
  }
}

/// Tiles that are read from or written to a blocked image without a strip.
struct Whole {
  int64_t first = 0, last = 0;
};

/// Whether a vector of channels lies side by side in the image.
HWY_INLINE bool direct(const WinogradSizes& s) { return s.block >= std::max<int64_t>(8, kWinogradLanes); }

template <class W>
HWY_INLINE Whole whole_inputs(const WinogradSizes& s, const Line& line) {
  constexpr int64_t n = W::kWindow, advance = W::kAdvance;
  const int64_t y = line.tile_y * advance - s.pad_h, x = line.tile_x * advance - s.pad_w;
  Whole whole;
  if (!direct(s) || y < 0 || y + n > s.in_h) return whole;
  whole.first = std::min(line.count, x < 0 ? (advance - 1 - x) / advance : 0);
  const int64_t room = s.in_w - n - x;  // for the first pixel of the last whole tile
  whole.last = std::clamp<int64_t>(room < 0 ? 0 : room / advance + 1, whole.first, line.count);
  return whole;
}

template <class W>
HWY_INLINE Whole whole_outputs(const WinogradSizes& s, const Line& line) {
  Whole whole;
  if (!direct(s) || (line.tile_y + 1) * W::kTile > s.out_h) return whole;
  whole.last = std::clamp<int64_t>(s.out_w / W::kTile - line.tile_x, 0, line.count);
  return whole;
}

/// From an image with kPixel channels side by side.
template <class W, int kPixel>
void transform_whole(const WinogradSizes& s, const float* x, const Line& line, int64_t block, Whole whole, float* to,
                     int64_t step) {
  const int64_t channel = block * kWinogradPanel, channels = std::min(kWinogradPanel, s.in_channels - channel);
  constexpr int64_t advance = W::kAdvance;
  const float* from =
      x + (line.tile_x * advance - s.pad_w) * kPixel +
      row_offset(s, s.in_channels, s.in_h, s.in_w, line.image, channel, line.tile_y * advance - s.pad_h);
  for (int64_t t = whole.first; t < whole.last; ++t)
    for (int64_t c = 0; c < channels; c += kWinogradLanes)
      input_tile<W, kPixel>(from + c / kPixel * s.in_h * s.in_w * kPixel + t * advance * kPixel + c % kPixel,
                            s.in_w * kPixel, to + t * kWinogradPanel + c, step);
}

template <class W>
void transform_strip(const WinogradSizes& s, const float* x, const Line& line, int64_t block, Whole part, float* strip,
                     float* to, int64_t step) {
  if (part.first == part.last) return;
  constexpr int64_t n = W::kWindow, advance = W::kAdvance;
  const int64_t width = (part.last - part.first - 1) * advance + n;
  const int64_t left = (line.tile_x + part.first) * advance - s.pad_w;
  read_strip(s, x, line.image, block, line.tile_y * advance - s.pad_h, left, n, width, strip);
  for (int64_t t = part.first; t < part.last; ++t, strip += advance * kWinogradPanel)
    for (int64_t c = 0; c < kWinogradPanel; c += kWinogradLanes)
      input_tile<W, kWinogradPanel>(strip + c, width * kWinogradPanel, to + t * kWinogradPanel + c, step);
}

template <class W>
void transform(const WinogradPlan& plan, const float* x, WinogradRange range, int64_t first, int64_t last,
               const WinogradScratch& scratch) {
  const WinogradSizes& s = plan.sizes;
  const int64_t step = plan.input_step();
  for (int64_t block = first; block < last; ++block)
    each_line(s, range, [&](const Line& line) {
      float* to = scratch.input + (block * range.count() + line.at) * kWinogradPanel;
      const Whole whole = whole_inputs<W>(s, line);
      transform_strip<W>(s, x, line, block, {0, whole.first}, scratch.strip, to, step);
      if (whole.first < whole.last)
        (s.block == 8 ? transform_whole<W, 8> : transform_whole<W, 16>)(s, x, line, block, whole, to, step);
      transform_strip<W>(s, x, line, block, {whole.last, line.count}, scratch.strip, to, step);
    });
}

template <class W, int kPixel>
void finish_whole(const WinogradSizes& s, const float* sums, int64_t step, const Finish& finish, float* y,
                  const Line& line, int64_t panel, Whole whole) {
  const int64_t channel = panel * kWinogradPanel, channels = std::min(kWinogradPanel, s.out_channels - channel);
  const int64_t at = row_offset(s, s.out_channels, s.out_h, s.out_w, line.image, channel, line.tile_y * W::kTile) +
                     line.tile_x * W::kTile * kPixel;
  for (int64_t t = whole.first; t < whole.last; ++t)
    for (int64_t c = 0; c < channels; c += kWinogradLanes) {
      const int64_t to = at + c / kPixel * s.out_h * s.out_w * kPixel + t * W::kTile * kPixel + c % kPixel;
      const Finish mine{finish.bias + c, finish.residual ? finish.residual + to : nullptr, finish.low, finish.high};
      output_tile<W, kPixel>(sums + t * kWinogradPanel + c, step, mine, y + to, s.out_w * kPixel);
    }
}

/// The sizes of a convolution that would read what this one writes.
HWY_INLINE WinogradSizes output_as_input(WinogradSizes s) {
  s.in_channels = s.out_channels, s.in_h = s.out_h, s.in_w = s.out_w;
  return s;
}

/// Results of one panel of output channels, back to the image.
template <class W>
void finish(const WinogradPlan& plan, const float* sums, const WinogradAfter& after, float* y, WinogradRange range,
            int64_t panel, float* strip) {
  const WinogradSizes& s = plan.sizes;
  HWY_ALIGN float bias[kWinogradPanel] = {};
  if (after.bias)
    std::copy_n(after.bias + panel * kWinogradPanel, std::min(kWinogradPanel, s.out_channels - panel * kWinogradPanel),
                bias);
  const int64_t step = plan.output_step();
  each_line(s, range, [&](const Line& line) {
    const float* from = sums + line.at * kWinogradPanel;
    const Whole whole = whole_outputs<W>(s, line);
    if (whole.first < whole.last)
      (s.block == 8 ? finish_whole<W, 8> : finish_whole<W, 16>)(s, from, step,
                                                                {bias, after.residual, plan.low, plan.high}, y, line,
                                                                panel, whole);
    if (whole.last == line.count) return;
    const int64_t width = (line.count - whole.last) * W::kTile, row = line.tile_y * W::kTile;
    const int64_t column = (line.tile_x + whole.last) * W::kTile;
    float* residual = after.residual ? strip + plan.strip_floats() : nullptr;
    if (residual)
      read_strip(output_as_input(s), after.residual, line.image, panel, row, column, W::kTile, width, residual);
    for (int64_t t = whole.last; t < line.count; ++t)
      for (int64_t c = 0; c < kWinogradPanel; c += kWinogradLanes) {
        const int64_t to = (t - whole.last) * W::kTile * kWinogradPanel + c;
        const Finish mine{bias + c, residual ? residual + to : nullptr, plan.low, plan.high};
        output_tile<W, kWinogradPanel>(from + t * kWinogradPanel + c, step, mine, strip + to, width * kWinogradPanel);
      }
    write_strip(s, y, line.image, panel, row, column, W::kTile, width, strip);
  });
}

template <class W>
void multiply(const WinogradPlan& plan, const float* packed, const WinogradAfter& after, float* y, WinogradRange range,
              int64_t first, int64_t last, const WinogradScratch& scratch) {
  const WinogradSizes& s = plan.sizes;
  constexpr int64_t products = W::kProducts * W::kProducts, weights = W::kWeights * W::kWeights;
  const int64_t k = s.packed_k(), panel_floats = k * kWinogradPanel, tiles = range.count();
  auto weight = [&](int64_t panel, int64_t i) { return packed + (panel * weights + W::weight_of(i)) * panel_floats; };
  for (int64_t begin = first; begin < last; begin += plan.panels_each) {
    const int64_t end = std::min(begin + plan.panels_each, last);
    for (int64_t i = 0; i < products; ++i)
      for (int64_t panel = begin; panel < end; ++panel) {
        const float* u = weight(panel, i);
        const float* next = panel + 1 < end ? weight(panel + 1, i) : i + 1 < products ? weight(begin, i + 1) : u;
        panel_product(k, tiles, scratch.input + i * plan.input_step(), u, next,
                      scratch.output + i * plan.output_step() + (panel - begin) * tiles * kWinogradPanel);
      }
    for (int64_t panel = begin; panel < end; ++panel) {
      const float* sums = scratch.output + (panel - begin) * tiles * kWinogradPanel;
      finish<W>(plan, sums, after, y, range, panel, scratch.strip);
    }
  }
}

template <class F>
void with_tiles(int64_t tile, int64_t stride, F&& f) {
  if (stride == 2)
    f(Tiles<4, 2>());
  else if (tile == 2)
    f(Tiles<2, 1>());
  else
    f(Tiles<4, 1>());
}

void transform_any(const WinogradPlan& plan, const float* x, WinogradRange range, int64_t first, int64_t last,
                   const WinogradScratch& scratch) {
  with_tiles(plan.sizes.tile, plan.sizes.stride,
             [&]<class W>(W) { transform<W>(plan, x, range, first, last, scratch); });
}

void multiply_any(const WinogradPlan& plan, const float* packed, const WinogradAfter& after, float* y,
                  WinogradRange range, int64_t first, int64_t last, const WinogradScratch& scratch) {
  with_tiles(plan.sizes.tile, plan.sizes.stride,
             [&]<class W>(W) { multiply<W>(plan, packed, after, y, range, first, last, scratch); });
}

void pack_any(int64_t tile, const WinogradWeights& w, const float* data, int64_t first, int64_t last, float* packed) {
  with_tiles(tile, w.stride, [&]<class W>(W) { pack_weights<W>(w, data, first, last, packed); });
}

}  // namespace
WinogradRoutines f32_winograd() { return {&pack_any, &transform_any, &multiply_any}; }
}  // namespace hw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {
WinogradRoutines winograd_routines() { return HW_BEST_TARGET(f32_winograd)(); }
}  // namespace hw
#endif
