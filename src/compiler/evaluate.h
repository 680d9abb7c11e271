// Running one node on data at compile time.
#pragma once

#include "ir/graph.h"

namespace hw {

/// The outputs, laid out as the graph says; empty where the kernel reports a fault, which is then left to the run.
/// Inputs not given are undefined tensors. The node must be a kernel or view op without bindings.
std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs);

/// The value of a constant with one element, if `v` is one.
bool constant_scalar(const Graph& graph, ValueId v, Scalar& value);

}  // namespace hw
