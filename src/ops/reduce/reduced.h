// What the gradients of reductions share: results brought back to the rank of the input.
#pragma once

#include "op/grad_ctx.h"

namespace hw {

/// The axes that the call reduces, normalised.
Dims axes_of(const AttrValue& dim, int64_t ndim);
/// `t` has the shape of the result; returned with the reduced axes of size 1, whatever `keepdim` was.
Tensor with_reduced_axes(const GradCtx& g, const Tensor& t);
/// The number of elements that make one result.
int64_t reduced_count(const TensorSpec& x, const AttrValue& dim);

}  // namespace hw
