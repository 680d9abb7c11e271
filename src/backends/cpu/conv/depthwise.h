// Convolution with one input channel per group, straight from the image. Contiguous f32.
#pragma once

#include "kernels/conv/geometry.h"

namespace hw {

/// One plane: y[out1, out2] = bias + x[in1, in2] * w[k1, k2]. Served: one or two spatial axes (in[0] = kernel[0] = 1), column
/// stride 1 or 2, column dilation 1.
using DepthwisePlane = void (*)(const ConvGeometry& g, const float* x, const float* w, float bias, float* y);
DepthwisePlane depthwise_plane();
bool depthwise_serves(const ConvGeometry& g);

}  // namespace hw
