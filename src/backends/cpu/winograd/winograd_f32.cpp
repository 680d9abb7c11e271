// The steps of a Winograd convolution in f32, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/winograd/winograd_f32.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include "backends/cpu/winograd/winograd.h"
// In this order, after winograd.h.
#include "backends/cpu/winograd/image-inl.h"
#include "backends/cpu/winograd/product-inl.h"
#include "backends/cpu/winograd/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
namespace {

/// Runs body(n, tile_y, first tile_x, count, index in the range) for the parts of a range that lie in one line of tiles.
template <class F>
HWY_INLINE void each_line(const WinogradSizes& s, WinogradRange range, F body) {
  const int64_t across = s.tiles_x(), down = s.tiles_y();
  for (int64_t t = range.first; t < range.last;) {
    int64_t line = t / across, x = t % across, count = std::min(across - x, range.last - t);
    body(line / down, line % down, x, count, t - range.first);
    t += count;
  }
}

template <int kTile>
void transform(const WinogradPlan& plan, const float* x, WinogradRange range, int64_t first, int64_t last,
               const WinogradScratch& scratch) {
  const WinogradSizes& s = plan.sizes;
  constexpr int64_t n = kTile + 2;
  const int64_t step = plan.input_step();
  for (int64_t block = first; block < last; ++block)
    each_line(s, range, [&](int64_t image, int64_t tile_y, int64_t tile_x, int64_t count, int64_t at) {
      const int64_t width = count * kTile + 2;
      read_strip(s, x, image, block, tile_y * kTile - s.pad_h, tile_x * kTile - s.pad_w, n, width, scratch.strip);
      float* to = scratch.input + (block * range.count() + at) * kWinogradPanel;
      for (int64_t t = 0; t < count; ++t)
        for (int64_t c = 0; c < kWinogradPanel; c += kWinogradLanes)
          input_tile<kTile>(scratch.strip + t * kTile * kWinogradPanel + c, width * kWinogradPanel,
                            to + t * kWinogradPanel + c, step);
    });
}

/// Results of one panel of output channels, back to the image.
template <int kTile, bool kRelu>
void finish(const WinogradPlan& plan, const float* sums, const float* bias, float* y, WinogradRange range,
            int64_t panel, float* strip) {
  const WinogradSizes& s = plan.sizes;
  HWY_ALIGN float added[kWinogradPanel] = {};
  if (bias)
    std::copy_n(bias + panel * kWinogradPanel, std::min(kWinogradPanel, s.out_channels - panel * kWinogradPanel),
                added);
  const int64_t step = plan.output_step();
  each_line(s, range, [&](int64_t image, int64_t tile_y, int64_t tile_x, int64_t count, int64_t at) {
    const int64_t width = count * kTile;
    for (int64_t t = 0; t < count; ++t)
      for (int64_t c = 0; c < kWinogradPanel; c += kWinogradLanes)
        output_tile<kTile, kRelu>(sums + (at + t) * kWinogradPanel + c, step, added + c,
                                  strip + t * kTile * kWinogradPanel + c, width * kWinogradPanel);
    write_strip(s, y, image, panel, tile_y * kTile, tile_x * kTile, kTile, width, strip);
  });
}

template <int kTile>
void multiply(const WinogradPlan& plan, const float* packed, const float* bias, float* y, WinogradRange range,
              int64_t first, int64_t last, const WinogradScratch& scratch) {
  const WinogradSizes& s = plan.sizes;
  constexpr int64_t products = (kTile + 2) * (kTile + 2);
  const int64_t k = s.packed_k(), panel_floats = k * kWinogradPanel, tiles = range.count();
  for (int64_t begin = first; begin < last; begin += plan.panels_each) {
    const int64_t end = std::min(begin + plan.panels_each, last);
    for (int64_t i = 0; i < products; ++i)
      for (int64_t panel = begin; panel < end; ++panel)
        panel_product(k, tiles, scratch.input + i * plan.input_step(), packed + (panel * products + i) * panel_floats,
                      scratch.output + i * plan.output_step() + (panel - begin) * tiles * kWinogradPanel);
    for (int64_t panel = begin; panel < end; ++panel) {
      const float* sums = scratch.output + (panel - begin) * tiles * kWinogradPanel;
      if (plan.relu)
        finish<kTile, true>(plan, sums, bias, y, range, panel, scratch.strip);
      else
        finish<kTile, false>(plan, sums, bias, y, range, panel, scratch.strip);
    }
  }
}

void transform_any(const WinogradPlan& plan, const float* x, WinogradRange range, int64_t first, int64_t last,
                   const WinogradScratch& scratch) {
  (plan.sizes.tile == 2 ? transform<2> : transform<4>)(plan, x, range, first, last, scratch);
}

void multiply_any(const WinogradPlan& plan, const float* packed, const float* bias, float* y, WinogradRange range,
                  int64_t first, int64_t last, const WinogradScratch& scratch) {
  (plan.sizes.tile == 2 ? multiply<2> : multiply<4>)(plan, packed, bias, y, range, first, last, scratch);
}

void pack_any(int64_t tile, const WinogradWeights& w, const float* data, int64_t first, int64_t last, float* packed) {
  (tile == 2 ? pack_weights<2> : pack_weights<4>)(w, data, first, last, packed);
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
