// Gathers input points for convolution as a product; see the header.
#include "backends/cpu/conv/im2col.h"

#include <algorithm>
#include <cstring>

namespace hw {
namespace {

/// Output columns [first, last) whose input column lies inside the image, for one kernel column.
struct Inside {
  int64_t first, last, shift;  // input column of output column o is o * stride + shift
};

Inside inside(const ConvGeometry& g, int64_t k2) {
  Inside r;
  r.shift = k2 * g.dilation[2] - g.padding[2];
  int64_t s = g.stride[2];
  r.first = r.shift >= 0 ? 0 : (-r.shift + s - 1) / s;
  r.last = g.in[2] - r.shift <= 0 ? 0 : (g.in[2] - r.shift + s - 1) / s;
  r.last = std::clamp<int64_t>(r.last, 0, g.out[2]);
  r.first = std::min(r.first, r.last);
  return r;
}

/// Calls body(row of x or -1, first output column, last output column, position in col) for each stretch of one output row.
template <class F>
void each_row(const ConvGeometry& g, int64_t k0, int64_t k1, int64_t begin, int64_t end, F&& body) {
  for (int64_t p = begin; p < end;) {
    int64_t o2 = p % g.out[2], row = p / g.out[2], o1 = row % g.out[1], o0 = row / g.out[1];
    int64_t stop = std::min(g.out[2], o2 + (end - p));
    int64_t i0 = o0 * g.stride[0] + k0 * g.dilation[0] - g.padding[0];
    int64_t i1 = o1 * g.stride[1] + k1 * g.dilation[1] - g.padding[1];
    bool in = i0 >= 0 && i0 < g.in[0] && i1 >= 0 && i1 < g.in[1];
    body(in ? i0 * g.in[1] + i1 : -1, o2, stop, p - begin);
    p += stop - o2;
  }
}

}  // namespace

template <class T>
void im2col(const ConvGeometry& g, const T* x, int64_t channels, int64_t begin, int64_t end, T* col) {
  int64_t s = g.stride[2];
  for (int64_t c = 0; c < channels; ++c, x += g.in_size())
    for (int64_t k0 = 0; k0 < g.kernel[0]; ++k0)
      for (int64_t k1 = 0; k1 < g.kernel[1]; ++k1)
        for (int64_t k2 = 0; k2 < g.kernel[2]; ++k2, col += end - begin) {
          Inside in = inside(g, k2);
          each_row(g, k0, k1, begin, end, [&](int64_t row, int64_t o2, int64_t stop, int64_t at) {
            T* to = col + at - o2;
            int64_t first = row < 0 ? stop : std::clamp(in.first, o2, stop),
                    last = row < 0 ? stop : std::clamp(in.last, first, stop);
            std::fill(to + o2, to + first, T(0));
            if (row >= 0) {
              const T* from = x + row * g.in[2] + in.shift;
              if (s == 1)
                std::copy(from + first, from + last, to + first);
              else
                for (int64_t o = first; o < last; ++o) to[o] = from[o * s];
            }
            std::fill(to + last, to + stop, T(0));
          });
        }
}

template <class T>
void col2im(const ConvGeometry& g, const T* col, int64_t channels, T* x) {
  int64_t s = g.stride[2], points = g.out_size();
  for (int64_t c = 0; c < channels; ++c, x += g.in_size())
    for (int64_t k0 = 0; k0 < g.kernel[0]; ++k0)
      for (int64_t k1 = 0; k1 < g.kernel[1]; ++k1)
        for (int64_t k2 = 0; k2 < g.kernel[2]; ++k2, col += points) {
          Inside in = inside(g, k2);
          each_row(g, k0, k1, 0, points, [&](int64_t row, int64_t, int64_t, int64_t at) {
            if (row < 0) return;
            T* to = x + row * g.in[2] + in.shift;
            const T* from = col + at;
            for (int64_t o = in.first; o < in.last; ++o) to[o * s] += from[o];
          });
        }
}

template void im2col<float>(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void im2col<double>(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, double*);
template void col2im<float>(const ConvGeometry&, const float*, int64_t, float*);
template void col2im<double>(const ConvGeometry&, const double*, int64_t, double*);

}  // namespace hw
