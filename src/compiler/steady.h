// What stays the same from run to run of a graph for inference.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace hw {

/// Whether the graph leaves nothing behind but outputs: no new content of a source, no gradient.
bool gives_outputs_only(const Graph& graph);

/// Whether each value is computed from state and constants alone, which count themselves.
std::vector<bool> steady_values(const Graph& graph);

}  // namespace hw
