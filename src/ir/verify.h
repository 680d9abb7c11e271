// Whether a graph is well formed, whatever its operators mean. That its specs follow from the operators' rules is checked by
// compiler/check_graph.h.
#pragma once

#include <string>

#include "ir/graph.h"

namespace hw {

/// The first thing that is wrong; empty for a sound graph. Never throws and never reads out of bounds.
std::string graph_problem(const Graph& graph);
/// bug() with the problem; `after` says what was done last ("pass merge_equal").
void verify_graph(const Graph& graph, std::string_view after);

}  // namespace hw
