// In-place writes through views: how the history of a base and of its views stay one.
#pragma once

#include "autograd/node.h"

namespace hw {

/// Gives a view a node over its base's present history when the base was written to since.
void refresh_view(const Tensor& view, GradMeta& meta);
/// `node` computed the new value of `view`, a view of meta.view->base: splices it into the base's history.
void write_through_view(const Tensor& view, GradMeta& meta, Ref<GradNode> node);

}  // namespace hw
