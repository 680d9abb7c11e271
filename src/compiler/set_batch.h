// A captured inference graph for another batch size.
#pragma once

#include "ir/graph.h"

namespace hw {

/// Gives axis 0 of all inputs with axes, which must have one size, the size `batch`, and all values the shapes that follow.
/// Sizes written into attributes (view, expand, the size of a new tensor along axis 0) are followed where it is certain
/// which of them is the batch; otherwise, and for graphs with updates or gradients, throws Error{Value} and changes nothing.
/// A number that Python worked out from the batch size is a constant of the graph and stays: a constant equal to the old
/// size (beyond 1) is refused unless `numbers_too` says that none comes from it.
void set_batch(Graph& graph, int64_t batch, bool numbers_too = false);

}  // namespace hw
