// Products of transformed tiles and weights over the input channels. Included by winograd_f32.cpp once per target.

HWY_BEFORE_NAMESPACE();
namespace hw {
namespace HWY_NAMESPACE {
namespace {

constexpr int kPanelVectors = static_cast<int>(kWinogradPanel / kWinogradLanes);
#if HWY_TARGET == HWY_AVX3
constexpr int kMostTiles = 14;
#elif HWY_TARGET == HWY_AVX2
constexpr int kMostTiles = 6;
#elif HWY_TARGET == HWY_NEON
constexpr int kMostTiles = 6;
#else
constexpr int kMostTiles = 2;
#endif

/// m[kTiles x 16] = v[kTiles x k] u[k x 16]. v holds 16 channels of each tile side by side, the next 16 `block_step` further.
/// Two lines in four of `ahead` are called to L2 on the way: the weights come from memory, and the next are known.
template <int kTiles>
HWY_NOINLINE void micro_product(int64_t k, const float* HWY_RESTRICT v, int64_t block_step, const float* HWY_RESTRICT u,
                                const float* ahead, float* HWY_RESTRICT m) {
  const Floats d;
  Vec sum[kTiles][kPanelVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kTiles; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < kPanelVectors; ++j) sum[i][j] = hn::Zero(d);
  for (; k > 0; k -= kWinogradPanel, v += block_step) {
    const float* one = v;
    for (int64_t left = std::min(k, kWinogradPanel); left > 0; left -= 4, one += 4) {
      __builtin_prefetch(ahead, 0, 2);
      __builtin_prefetch(ahead + kWinogradPanel, 0, 2);
      ahead += 2 * kWinogradPanel;
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c, u += kWinogradPanel) {
        Vec row[kPanelVectors];
#pragma GCC unroll 16
        for (int j = 0; j < kPanelVectors; ++j) row[j] = hn::LoadU(d, u + j * kWinogradLanes);
#pragma GCC unroll 16
        for (int i = 0; i < kTiles; ++i) {
          const Vec left_value = hn::Set(d, one[i * kWinogradPanel + c]);
#pragma GCC unroll 16
          for (int j = 0; j < kPanelVectors; ++j) sum[i][j] = hn::MulAdd(left_value, row[j], sum[i][j]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTiles; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < kPanelVectors; ++j) hn::Store(sum[i][j], d, m + i * kWinogradPanel + j * kWinogradLanes);
}

using MicroProduct = void (*)(int64_t, const float*, int64_t, const float*, const float*, float*);

template <int kTiles>
constexpr MicroProduct micro_at_most() {
  return &micro_product<(kTiles < kMostTiles ? kTiles : kMostTiles)>;
}
constexpr MicroProduct kMicroProducts[] = {nullptr,
                                           micro_at_most<1>(),
                                           micro_at_most<2>(),
                                           micro_at_most<3>(),
                                           micro_at_most<4>(),
                                           micro_at_most<5>(),
                                           micro_at_most<6>(),
                                           micro_at_most<7>(),
                                           micro_at_most<8>(),
                                           micro_at_most<9>(),
                                           micro_at_most<10>(),
                                           micro_at_most<11>(),
                                           micro_at_most<12>(),
                                           micro_at_most<13>(),
                                           micro_at_most<14>()};

/// One panel of 16 output channels for all tiles of a range, in groups of equal size. `next` is the panel that follows.
HWY_INLINE void panel_product(int64_t k, int64_t tiles, const float* v, const float* u, const float* next, float* m) {
  const int64_t groups = (tiles + kMostTiles - 1) / kMostTiles;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = tiles * g / groups, count = tiles * (g + 1) / groups - first;
    kMicroProducts[count](k, v + first * kWinogradPanel, tiles * kWinogradPanel, u,
                          g < 2 ? next + g * (k / 2) * kWinogradPanel : u, m + first * kWinogradPanel);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hw
HWY_AFTER_NAMESPACE();
