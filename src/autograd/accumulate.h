// The end of the tape: adding a gradient to a leaf's `.grad`.
#pragma once

#include "autograd/node.h"

namespace hw {

/// The node that adds to `leaf.grad`; one at a time per leaf.
Ref<GradNode> accumulator(const Tensor& leaf);
/// The leaf of a node that is_accumulator().
const Tensor& leaf_of(const GradNode& accumulator);
/// a + b, in place when nobody else holds `a` and no graph is being made.
Tensor add_gradients(Tensor a, const Tensor& b);
/// Brings the gradient of a leaf to where the leaf lies, when one of them is a global tensor; set by the room that makes these.
using PlaceGradient = Tensor (*)(const Tensor& gradient, const Tensor& leaf);
/// `alone`: whether nobody else holds the parts of a global tensor, so that a leaf may keep them.
void set_place_gradient(PlaceGradient f, bool (*alone)(const Tensor& global));
Tensor placed_gradient(const Tensor& gradient, const Tensor& leaf);  // the gradient itself where neither is global
/// Throws unless a hook's result is like the gradient that it replaces.
void check_hook_result(const Tensor& result, DType dtype, const Dims& shape);

}  // namespace hw
