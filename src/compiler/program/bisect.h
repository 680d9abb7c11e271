// Which pass changes what a graph computes, and at which node: the graph is evaluated node by node after each of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
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

/// The captured graph, the graph after each of `passes` that changes it, then kernels and plan: each handed to `visit` when it has been
/// evaluated, until that says false. Nothing of a stage is kept here.
void bisect_stages(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run,
                   const std::vector<Pass>& passes, const PassOptions& options, FunctionRef<bool(BisectStage&&)> visit);

struct Divergence {
  std::string pass;  // the first stage whose results or values differ from those of the stage before; empty: none
  NodeId node = kNone;
  std::string text, origin;  // of the node
  double difference = 0;     // the largest, relative to the largest value there
};

/// Where numbers first differ by more than `tolerance` times the largest number of a tensor. Holds one stage, the one before.
class DivergenceFinder {
 public:
  explicit DivergenceFinder(double tolerance) : tolerance_(tolerance) {}
  void look(BisectStage&& stage);
  const Divergence& found() const { return found_; }

 private:
  double tolerance_;
  std::optional<BisectStage> before_;
  Divergence found_;
};

/// The largest difference of two tensors relative to the largest finite value of the first; infinite where shapes, dtypes or
/// non-finite values differ.
double relative_difference(const Tensor& a, const Tensor& b);

}  // namespace hw
