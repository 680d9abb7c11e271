// Rows of an image as strips with 16 channels side by side, and back. Included by winograd_f32.cpp once per target.

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR
/// In each 128-bit block: element j of vector i changes places with element i of vector j.
HWY_INLINE void transpose_blocks(Vec (&v)[4]) {
  const Floats d;
  const Vec low02 = hn::InterleaveLower(d, v[0], v[2]), high02 = hn::InterleaveUpper(d, v[0], v[2]);
  const Vec low13 = hn::InterleaveLower(d, v[1], v[3]), high13 = hn::InterleaveUpper(d, v[1], v[3]);
  v[0] = hn::InterleaveLower(d, low02, low13);
  v[1] = hn::InterleaveUpper(d, low02, low13);
  v[2] = hn::InterleaveLower(d, high02, high13);
  v[3] = hn::InterleaveUpper(d, high02, high13);
}

/// Four pixels of each of several planes, those of plane 4 q in block q.
template <class D>
HWY_INLINE hn::VFromD<D> gather_blocks(D d, const float* from, int64_t plane) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t planes = static_cast<int64_t>(hn::MaxLanes(d)) / 2;
    return hn::Combine(d, gather_blocks(half, from + planes * plane, plane), gather_blocks(half, from, plane));
  }
}

template <class D>
HWY_INLINE void scatter_blocks(D d, hn::VFromD<D> v, float* to, int64_t plane) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    constexpr int64_t planes = static_cast<int64_t>(hn::MaxLanes(d)) / 2;
    scatter_blocks(half, hn::LowerHalf(half, v), to, plane);
    scatter_blocks(half, hn::UpperHalf(half, v), to + planes * plane, plane);
  }
}
#endif

/// Pixels of up to 16 planes side by side: to[16 p + c] = from[p + c plane], zero for channels that are not there.
HWY_INLINE void read_planes(const float* from, int64_t plane, int64_t channels, int64_t pixels, float* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  if (pixels >= 4)
    for (; c + kWinogradLanes <= channels; c += kWinogradLanes)
      for (int64_t p = 0; p < pixels; p += 4) {
        const int64_t at = std::min(p, pixels - 4);
        Vec v[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) v[i] = gather_blocks(d, from + (c + i) * plane + at, plane);
        transpose_blocks(v);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) hn::Store(v[i], d, to + (at + i) * kWinogradPanel + c);
      }
#endif
  for (; c < kWinogradPanel; ++c)
    for (int64_t p = 0; p < pixels; ++p) to[p * kWinogradPanel + c] = c < channels ? from[c * plane + p] : 0.0f;
}

HWY_INLINE void write_planes(const float* from, int64_t plane, int64_t channels, int64_t pixels, float* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  if (pixels >= 4)
    for (; c + kWinogradLanes <= channels; c += kWinogradLanes)
      for (int64_t p = 0; p < pixels; p += 4) {
        const int64_t at = std::min(p, pixels - 4);
        Vec v[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) v[i] = hn::Load(d, from + (at + i) * kWinogradPanel + c);
        transpose_blocks(v);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) scatter_blocks(d, v[i], to + (c + i) * plane + at, plane);
      }
#endif
  for (; c < channels; ++c)
    for (int64_t p = 0; p < pixels; ++p) to[c * plane + p] = from[p * kWinogradPanel + c];
}

/// `channels` (8 or 16) of each pixel; steps from pixel to pixel.
HWY_INLINE void copy_pixels(const float* from, int64_t from_step, int64_t channels, float* to, int64_t to_step,
                            int64_t pixels) {
  const hn::CappedTag<float, 8> d;
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t c = 0; c < channels; c += static_cast<int64_t>(hn::MaxLanes(d)))
      hn::StoreU(hn::LoadU(d, from + p * from_step + c), d, to + p * to_step + c);
}

/// The first element of channel 16 `block` in row y of an image with `block` channels side by side.
HWY_INLINE int64_t row_offset(const WinogradSizes& s, int64_t channels, int64_t height, int64_t width, int64_t image,
                              int64_t channel, int64_t y) {
  const int64_t side = s.block, blocks = (channels + side - 1) / side;
  return ((image * blocks + channel / side) * height + y) * width * side;
}

/// Rows [y, y + rows) and columns [x, x + width) of 16 channels, zero outside of the image.
HWY_INLINE void read_strip(const WinogradSizes& s, const float* image_data, int64_t image, int64_t block, int64_t y,
                           int64_t x, int64_t rows, int64_t width, float* strip) {
  const int64_t first = std::clamp<int64_t>(-x, 0, width), last = std::clamp<int64_t>(s.in_w - x, first, width);
  const int64_t channel = block * kWinogradPanel, channels = std::min(kWinogradPanel, s.in_channels - channel);
  for (int64_t r = 0; r < rows; ++r, strip += width * kWinogradPanel) {
    if (y + r < 0 || y + r >= s.in_h || first == last) {
      std::fill_n(strip, width * kWinogradPanel, 0.0f);
      continue;
    }
    std::fill_n(strip, first * kWinogradPanel, 0.0f);
    std::fill_n(strip + last * kWinogradPanel, (width - last) * kWinogradPanel, 0.0f);
    float* to = strip + first * kWinogradPanel;
    const float* from = image_data + row_offset(s, s.in_channels, s.in_h, s.in_w, image, channel, y + r);
    from += (x + first) * s.block;
    if (s.block == 1) {
      read_planes(from, s.in_h * s.in_w, channels, last - first, to);
      continue;
    }
    for (int64_t c = 0; c < channels; c += s.block, from += s.in_h * s.in_w * s.block)
      copy_pixels(from, s.block, s.block, to + c, kWinogradPanel, last - first);
  }
}

/// The part of a strip of results that lies in the image.
HWY_INLINE void write_strip(const WinogradSizes& s, float* image_data, int64_t image, int64_t panel, int64_t y,
                            int64_t x, int64_t rows, int64_t width, const float* strip) {
  const int64_t channel = panel * kWinogradPanel, channels = std::min(kWinogradPanel, s.out_channels - channel);
  const int64_t pixels = std::min(width, s.out_w - x);
  rows = std::min(rows, s.out_h - y);
  for (int64_t r = 0; r < rows; ++r, strip += width * kWinogradPanel) {
    float* to = image_data + row_offset(s, s.out_channels, s.out_h, s.out_w, image, channel, y + r) + x * s.block;
    if (s.block == 1) {
      write_planes(strip, s.out_h * s.out_w, channels, pixels, to);
      continue;
    }
    for (int64_t c = 0; c < channels; c += s.block, to += s.out_h * s.out_w * s.block)
      copy_pixels(strip + c, kWinogradPanel, s.block, to, s.block, pixels);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
