// Activations that only limit their input to a range.
#pragma once

#include "ir/graph.h"

namespace hw {

/// Whether a node is relu, relu6, hardtanh or a clamp by constants, and to which range.
bool limits_range(const Graph& graph, const Node& node, double& low, double& high);

}  // namespace hw
