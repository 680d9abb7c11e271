// Which pass changes what a graph computes, and at which node: the graph is evaluated node by node after each of them.
#pragma once

#include <string>
#include <vector>

#include "compiler/evaluate.h"
#include "compiler/pass.h"

namespace hw {

/// A graph on its way through the passes, evaluated.
struct BisectStage {
  std::string name;  // "capture", a pass, "kernels" (regions as a plan runs them), "plan"
  Graph graph;
  std::vector<Tensor> values;  // by value of the graph; none for "plan"
  std::vector<Tensor> results;
};

/// The captured graph, the graph after each of `passes` that changes it, then kernels and plan.
std::vector<BisectStage> bisect_stages(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run,
                                       const std::vector<Pass>& passes, const PassOptions& options);

struct Divergence {
  std::string pass;  // the first stage whose results or values differ from those of the stage before; empty: none
  NodeId node = kNone;
  std::string text, origin;  // of the node
  double difference = 0;     // the largest, relative to the largest value there
};

/// Where numbers first differ by more than `tolerance` times the largest number of a tensor.
Divergence find_divergence(const std::vector<BisectStage>& stages, double tolerance);

/// The largest difference of two tensors relative to the largest finite value of the first; infinite where shapes, dtypes or
/// non-finite values differ.
double relative_difference(const Tensor& a, const Tensor& b);

}  // namespace hw
