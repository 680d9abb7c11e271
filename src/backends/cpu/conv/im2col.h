// Rows of input points under each kernel point, and their way back. Contiguous f32 and f64.
#pragma once

#include "kernels/conv/geometry.h"

namespace hw {

/// col[(c, k), p] = x[c, input point under kernel point k of output point p], zero in the padding, for `channels` channels and
/// the output points [begin, end). Rows of col are end - begin apart.
template <class T>
void im2col(const ConvGeometry& g, const T* x, int64_t channels, int64_t begin, int64_t end, T* col);

/// The transpose: x[...] += col[...], over all output points.
template <class T>
void col2im(const ConvGeometry& g, const T* col, int64_t channels, T* x);

extern template void im2col<float>(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, float*);
extern template void im2col<double>(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, double*);
extern template void col2im<float>(const ConvGeometry&, const float*, int64_t, float*);
extern template void col2im<double>(const ConvGeometry&, const double*, int64_t, double*);

}  // namespace hw
