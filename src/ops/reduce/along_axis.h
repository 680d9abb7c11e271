// Rules of the ops that pick one element along an axis and return it with its index.
#pragma once

#include "op/grad_ctx.h"

namespace hw {

/// The reduced shape; an IndexError if there is nothing to pick from.
Dims nonempty_reduced(const InferCtx& c);
/// Sends the gradient of the values (output 0) to where the indices (output 1) point.
void scatter_to_index(GradCtx& g);
/// The same for ops whose outputs keep the shape of the input (cummax): several results may point at one element.
void scatter_add_to_index(GradCtx& g);

}  // namespace hw
