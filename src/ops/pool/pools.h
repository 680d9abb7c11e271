// Shape rules and bodies that the pooling ops share.
#pragma once

#include "op/op_def.h"

namespace hw {

/// Size of a pooled axis, as in torch: with ceil_mode the last window must begin inside the input or its left padding.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

/// Shape rules of max_pool and avg_pool (attributes kernel_size, stride, padding, ceil_mode and, for max, dilation).
Dims pooled_shape(const InferCtx& c);
/// Of the adaptive pools: the last axes become output_size (an entry of -1 keeps its axis).
Dims adaptive_shape(const InferCtx& c);
/// Of the gradients: input_shape, whose leading axes follow dy so that parts of a split call fit together. `ndim` spatial axes.
Dims unpooled_shape(const InferCtx& c, int64_t ndim);

namespace sbp {
/// Axes before the last `ndim` may be split. All inputs and outputs alike.
void leading_axes(SbpCtx& c, int64_t ndim);
}  // namespace sbp

/// Bodies of the public ops: bring the arguments to one value per axis and check them.
Tensors max_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim);
Tensor avg_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim);
Tensor adaptive_avg_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim);
Tensors adaptive_max_pool(std::span<const Tensor> in, const Attrs& attrs, int64_t ndim);

}  // namespace hw
