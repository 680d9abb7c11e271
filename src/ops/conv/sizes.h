// Sizes of convolutions, and what the convolution ops share.
#pragma once

#include "op/op_def.h"

namespace hw {

/// Value `axis` of an attribute that has one value for all axes or one each.
int64_t per_axis(const AttrValue& attr, int64_t axis, int64_t ndim, const char* what);
/// The attribute as one value per axis.
Dims spread(const AttrValue& attr, int64_t ndim, const char* what);

/// Shape rules of the three ops that are each other's gradients. Batch and channels come from the inputs, so that parts of a
/// split call fit together; only spatial sizes come from input_shape and weight_shape.
Dims convolution_shape(const InferCtx& c);
Dims convolution_input_shape(const InferCtx& c);
Dims convolution_weight_shape(const InferCtx& c);

/// The body of conv1d, conv2d and conv3d, and of their transposed forms.
Tensor convolve(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim);
Tensor convolve_transposed(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim);

}  // namespace hw
