// What the operators on rows of a table share: embedding, its part on one rank, and their gradients.
#pragma once

#include "op/grad_ctx.h"
#include "op/rules.h"

namespace hw {

/// The shape of the rows that inputs (row numbers, table) name.
Dims rows_shape(const InferCtx& c);

/// Refuses a gradient, input 0, that is not one row for each number of input 1.
void check_row_gradient(const InferCtx& c);

/// Second derivative: the gradient of dy is what the lookup of the numbers, input 1, found, but zero for the padding row.
void give_rows(GradCtx& g, Tensor rows);

/// Refuses scale_grad_by_freq, whose second derivative there is not.
void check_twice_differentiable(GradCtx& g);

}  // namespace hw
