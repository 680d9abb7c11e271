// Which operators may write their result over an input.
#pragma once

#include "ir/graph.h"

namespace hw {

/// Whether output `out` of a node may lie exactly on its input `in` when both have the same dtype, shape and strides.
bool may_overwrite(const Node& node, size_t in, size_t out);
/// Whether the node reads the content of an input; copy_ and _write_view over the whole need only its sizes.
bool reads_input(const Node& node, size_t in);

}  // namespace hw
