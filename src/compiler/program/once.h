// The part of a program that depends on state alone: run when the state has changed, not in each call.
#pragma once

#include <optional>
#include <vector>

#include "chain/chain.h"
#include "ir/graph.h"

namespace hw {

class Workspace;

/// Where the tensor of a source comes from in each run.
struct ProgramSource {
  Tensor tensor;               // state
  Tensor leaf;                 // or the gradient of this leaf
  int32_t input = -1;          // or an argument
  int32_t grad_of_input = -1;  // or the gradient of an argument
  int32_t part = -1;           // of the hosted parts, if that is a global tensor

  /// The tensor of one that is no argument, and what it is a part of.
  const Tensor& state() const;
  const Tensor& whole_state() const;
  /// The part that this one is of a global tensor; an ordinary tensor itself.
  const Tensor& of(const Tensor& whole) const;
};

struct OnceGraph {
  Graph body;
  std::vector<int32_t> sources;  // of the graph that it was in, for each of the body that is no constant
};

/// Takes the node out of a graph, if there is one: its results become state, behind the sources that are there.
std::optional<OnceGraph> take_once(Graph& graph);

/// Results and what they were computed of. Programs of one function that agree in both share one.
class Once : public RefCounted {
 public:
  Once(Plan plan, std::vector<PreparedStep> kernels, std::vector<ProgramSource> sources);

  bool same(const Plan& plan, std::span<const ProgramSource> sources) const;
  /// Computed now if the state is other than last time, or may be: memory shared with NumPy and others changes unseen.
  const std::vector<Tensor>& results(Workspace& workspace);
  const Chain& chain() const { return chain_; }
  int64_t runs() const { return runs_; }

 private:
  struct Seen {
    Ref<Storage> storage;  // held, so that its address is not another's
    const void* data = nullptr;
    uint32_t version = 0;
  };
  bool changed();

  Chain chain_;
  std::vector<ProgramSource> sources_;
  std::vector<Seen> seen_;
  std::vector<Tensor> results_;
  int64_t runs_ = 0;
};

}  // namespace hw
