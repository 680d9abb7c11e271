// Running nodes on data at compile time, one by one: for constants, and to judge what passes and plans make of a graph.
#pragma once

#include "ir/graph.h"

namespace hw {

/// The outputs, laid out as the graph says; empty where the kernel reports a fault, which is then left to the run.
/// Inputs not given are undefined tensors. The node must be a kernel or view op without bindings.
std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs);

/// The results of a graph, given its inputs and states in order. Throws Error{Value} for tensors that do not fit, and for
/// nodes with bindings or bodies.
std::vector<Tensor> evaluate_graph(const Graph& graph, std::span<const Tensor> tensors);

/// The value of a constant with one element, if `v` is one.
bool constant_scalar(const Graph& graph, ValueId v, Scalar& value);

}  // namespace hw
