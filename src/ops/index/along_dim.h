// What gather, scatter and index_select share: checks of shapes along an axis.
#pragma once

#include "op/op_def.h"

namespace hw {

/// gather and scatter: `index` has as many axes as `x` and nowhere more elements, except along `axis`.
void check_index_shape(const TensorSpec& x, const TensorSpec& index, int64_t axis);
/// scatter: `src` is nowhere smaller than `index`, or 0-d.
void check_source_shape(const TensorSpec& src, const TensorSpec& index);
/// index_select and index_add: the number of indices, which must lie along one axis.
int64_t index_count(const TensorSpec& index);
/// index_add and index_copy: `source` is like `x` with as many elements along `axis` as there are indices.
void check_rows(const TensorSpec& x, const TensorSpec& index, const TensorSpec& source, int64_t axis);
/// S(i) for every input and the output, for axes other than `axis` where all have the same size.
void add_common_axes(SbpCtx& c, int64_t axis);
/// x, which has the sizes of `index`, with zeros up to `shape`.
Tensor grown(const Tensor& x, const Dims& shape);

}  // namespace hw
