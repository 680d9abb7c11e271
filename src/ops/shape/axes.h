// What shape ops share: how splits travel through them, and zeros with one part filled in.
#pragma once

#include "op/op_def.h"

namespace hw {

/// S(i) -> S(to[i]) for each axis i of input 0 with to[i] >= 0, and P -> P: the op only moves elements.
void add_moved_axes(SbpCtx& c, std::span<const int64_t> to);
/// As above for an op that works along `axis` and leaves the other axes alone. `drops`: the axis is not in the output.
void add_other_axes(SbpCtx& c, int64_t axis, bool drops = false);
/// 0, 1, ..., n - 1.
Dims axes_in_order(int64_t n);
/// The attribute as a list: an Int is a list of one, None an empty one.
Dims as_list(const AttrValue& value);

/// Zeros of `shape` with the elements start, start + step, ... of `axis` taken from x.
Tensor slice_grad(const Tensor& x, const Dims& shape, int64_t axis, int64_t start, int64_t step);

}  // namespace hw
