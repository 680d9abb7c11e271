// Depthwise convolution of one plane: rows of output in vectors, every kernel point from an unaligned load.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backends/cpu/gemm/targets.h"

#include <algorithm>

#include "backends/cpu/conv/depthwise.h"

HWY_BEFORE_NAMESPACE();
namespace hw::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

/// One output point with bounds checks.
HWY_INLINE float edge_point(const ConvGeometry& g, const float* x, const float* w, float bias, int64_t i1, int64_t o2) {
  float sum = bias;
  for (int64_t k1 = 0; k1 < g.kernel[1]; ++k1) {
    int64_t row = i1 + k1 * g.dilation[1];
    if (row < 0 || row >= g.in[1]) continue;
    for (int64_t k2 = 0; k2 < g.kernel[2]; ++k2) {
      int64_t column = o2 * g.stride[2] + k2 - g.padding[2];
      if (column >= 0 && column < g.in[2]) sum += x[row * g.in[2] + column] * w[k1 * g.kernel[2] + k2];
    }
  }
  return sum;
}

/// `V` vectors of output points whose windows lie inside the columns of x.
template <int V, int Stride>
HWY_INLINE void inner_points(const ConvGeometry& g, const float* x, const float* w, float bias, int64_t i1, int64_t o2,
                             float* y) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::VFromD<D> sum[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) sum[v] = hn::Set(d, bias);
  for (int64_t k1 = 0; k1 < g.kernel[1]; ++k1) {
    int64_t row = i1 + k1 * g.dilation[1];
    if (row < 0 || row >= g.in[1]) continue;
    const float* from = x + row * g.in[2] + o2 * Stride - g.padding[2];
    for (int64_t k2 = 0; k2 < g.kernel[2]; ++k2) {
      const auto factor = hn::Set(d, w[k1 * g.kernel[2] + k2]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        hn::VFromD<D> value, odd;
        if constexpr (Stride == 1)
          value = hn::LoadU(d, from + k2 + v * lanes);
        else
          hn::LoadInterleaved2(d, from + k2 + v * lanes * 2, value, odd);
        sum[v] = hn::MulAdd(factor, value, sum[v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) hn::StoreU(sum[v], d, y + o2 + v * lanes);
}

template <int Stride>
void plane(const ConvGeometry& g, const float* x, const float* w, float bias, float* y) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(D()));
  // Output columns [first, last) see no padding; a strided load reads one element past its last window.
  int64_t first = std::min(g.out[2], (g.padding[2] + Stride - 1) / Stride);
  int64_t room = g.in[2] + g.padding[2] - (g.kernel[2] - 1) - (Stride - 1);
  int64_t last = room <= 0 ? first : std::clamp((room + Stride - 1) / Stride, first, g.out[2]);
  for (int64_t o1 = 0; o1 < g.out[1]; ++o1, y += g.out[2]) {
    int64_t i1 = o1 * g.stride[1] - g.padding[1], o2 = 0;
    for (; o2 < first; ++o2) y[o2] = edge_point(g, x, w, bias, i1, o2);
    for (; o2 + 4 * lanes <= last; o2 += 4 * lanes) inner_points<4, Stride>(g, x, w, bias, i1, o2, y);
    for (; o2 + lanes <= last; o2 += lanes) inner_points<1, Stride>(g, x, w, bias, i1, o2, y);
    if (o2 < last && last - first >= lanes && lanes > 1) {  // overlaps points already done
      inner_points<1, Stride>(g, x, w, bias, i1, last - lanes, y);
      o2 = last;
    }
    for (; o2 < g.out[2]; ++o2) y[o2] = edge_point(g, x, w, bias, i1, o2);
  }
}

void plane_f32(const ConvGeometry& g, const float* x, const float* w, float bias, float* y) {
  g.stride[2] == 1 ? plane<1>(g, x, w, bias, y) : plane<2>(g, x, w, bias, y);
}
DepthwisePlane plane_routine() { return plane_f32; }

}  // namespace hw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hw {

DepthwisePlane depthwise_plane() { return HW_BEST_TARGET(plane_routine)(); }

bool depthwise_serves(const ConvGeometry& g) {
  return g.group_in() == 1 && g.in[0] == 1 && g.kernel[0] == 1 && g.out[0] == 1 && g.stride[2] <= 2 &&
         g.dilation[2] == 1;
}

}  // namespace hw
#endif
