// From a region node to a loop of the plan: the size of a piece, the strides of operands, memory of what stays inside.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

namespace hw {

/// `inputs`, `outputs`: how the node's operands lie in memory.
PlanLoop lower_region(const Node& node, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs);

/// Whether output `out` of a region may lie exactly on its input `in`: each piece of the input is read before that piece of the output is
/// written, and by no other piece.
bool region_may_overwrite(const Node& node, size_t in, size_t out);

}  // namespace hw
