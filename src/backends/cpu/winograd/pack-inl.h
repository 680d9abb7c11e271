// Transformed weights in panels of 16 output channels. Included by winograd_f32.cpp once per target.

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {

/// taps[16 t + o] = weight (o, t) of 16 output channels and one input channel at `from`; zero beyond `channels`.
HWY_INLINE void read_taps(const WinogradWeights& w, const float* from, int64_t channels, float* taps) {
  if (w.column_step == 1 && w.row_step == 3) return read_planes(from, w.out_step, channels, 9, taps);
  for (int64_t t = 0; t < 9; ++t)
    for (int64_t o = 0; o < kWinogradPanel; ++o)
      taps[t * kWinogradPanel + o] =
          o < channels ? from[o * w.out_step + t / 3 * w.row_step + t % 3 * w.column_step] : 0.0f;
}

/// The same of weights whose nine taps lie in reverse: read forwards, then turned.
HWY_INLINE void read_reversed(const WinogradWeights& w, const float* from, int64_t channels, float* taps) {
  HWY_ALIGN float forwards[9 * kWinogradPanel];
  read_planes(from - 8, w.out_step, channels, 9, forwards);
  for (int64_t t = 0; t < 9; ++t)
    std::copy_n(forwards + (8 - t) * kWinogradPanel, kWinogradPanel, taps + t * kWinogradPanel);
}

/// Four input channels at a time go through a buffer: the products' places lie a power of two apart and would push each other
/// out of the cache.
template <class W>
void pack_weights(const WinogradWeights& w, const float* data, int64_t first, int64_t last, float* packed) {
  constexpr int64_t products = W::kWeights * W::kWeights, group = 4;
  const int64_t step = (w.in_channels + group - 1) / group * group * kWinogradPanel;
  HWY_ALIGN float taps[9 * kWinogradPanel];
  HWY_ALIGN float buffer[products * group * kWinogradPanel];
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t channels = std::min(kWinogradPanel, w.out_channels - panel * kWinogradPanel);
    float* to = packed + panel * products * step;
    for (int64_t p = 0; p < w.in_channels; p += group, to += group * kWinogradPanel) {
      if (p + group > w.in_channels) std::fill_n(buffer, products * group * kWinogradPanel, 0.0f);
      for (int64_t i = 0; i < std::min(group, w.in_channels - p); ++i) {
        const float* from = data + w.offset + panel * kWinogradPanel * w.out_step + (p + i) * w.in_step;
        if (w.column_step == -1 && w.row_step == -3)
          read_reversed(w, from, channels, taps);
        else
          read_taps(w, from, channels, taps);
        for (int64_t o = 0; o < kWinogradPanel; o += kWinogradLanes)
          weight_tile<W>(taps + o, buffer + i * kWinogradPanel + o, group * kWinogradPanel);
      }
      for (int64_t i = 0; i < products; ++i)
        copy_pixels(buffer + i * group * kWinogradPanel, kWinogradPanel, kWinogradPanel, to + i * step, kWinogradPanel,
                    group);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
