// Rules that the softmax family shares.
#pragma once

#include "op/op_def.h"

namespace hw {

/// The attribute `dtype` if given, else the input's; a RuntimeError unless it is floating.
DType softmax_dtype(const InferCtx& c);
/// The input's shape, after a look at `dim`.
Dims softmax_shape(const InferCtx& c);

}  // namespace hw
