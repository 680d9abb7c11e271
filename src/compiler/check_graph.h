// Whether the nodes of a graph are calls that their operators accept, with the outputs that follow from the rules.
#pragma once

#include <string>

#include "ir/graph.h"

namespace hw {

/// The first thing that is wrong, with the node's line; empty for a graph that fits. Assumes graph_problem() found nothing.
/// Shapes must be those of the rules; the dtype and strides of a kernel's output may be others, because in-place code
/// stores into tensors that are there.
std::string specs_problem(const Graph& graph);
/// graph_problem() and specs_problem() for graphs that a user wrote: throws Error{Value}.
void check_graph(const Graph& graph);

/// The specs of a node's inputs; not given ones have no dtype.
std::vector<TensorSpec> input_specs(const Graph& graph, const Node& node);
/// The outputs that the rules give. Throws what the rules throw, with the call in front.
std::vector<TensorSpec> inferred_outputs(const Graph& graph, const Node& node);

}  // namespace hw
