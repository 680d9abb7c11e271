// Running nodes on data at compile time, one by one: for constants, and to judge what passes and plans make of a graph.
#pragma once

#include "ir/graph.h"

namespace hw {

/// The numbers of a run, as a chain takes them.
struct EvaluateRun {
  std::span<const double> host;
  uint64_t seed = 0, first_draw = 0;
  bool lowered_regions = false;  // regions run as in a plan, in tiles or generated code, instead of node by node
};

/// The outputs, laid out as the graph says; empty where the kernel reports a fault, which is then left to the run.
/// Inputs not given are undefined tensors. The node must be a kernel or view op.
std::vector<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                  const EvaluateRun& run = {});

/// Every value of a graph, by number, given its inputs and states in order; those that no node of the order makes are undefined.
/// Throws Error{Value} for tensors that do not fit, and where a kernel reports a fault.
std::vector<Tensor> evaluate_values(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run = {});
/// The results of a graph.
std::vector<Tensor> evaluate_graph(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run = {});

/// The results of a graph, run as a plan of its own: what evaluate_graph gives, if lowering, placement and kernels are right. The
/// tensors given are copied first, since a plan writes in place.
std::vector<Tensor> run_as_plan(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run = {});

/// The value of a constant with one element, if `v` is one.
bool constant_scalar(const Graph& graph, ValueId v, Scalar& value);

}  // namespace hw
