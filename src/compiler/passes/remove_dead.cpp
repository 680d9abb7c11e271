// remove_dead: nodes whose outputs nobody uses, and constants.
#include "compiler/pass.h"
#include "ir/rewrite.h"

namespace hw {

/// Backwards, so that one sweep finds all of them. Inputs and state stay, used or not: they belong to the call.
static bool remove_dead(Graph& graph, const PassOptions&) {
  std::vector<bool> used(graph.values.size(), false);
  for (const GraphResult& r : graph.results) used[static_cast<size_t>(r.value)] = true;
  std::vector<NodeId> kept;
  for (size_t i = graph.order.size(); i-- > 0;) {
    const Node& node = graph.node(graph.order[i]);
    bool needed = false;
    for (ValueId v : node.outputs) needed = needed || used[static_cast<size_t>(v)];
    if (!needed) continue;
    kept.push_back(graph.order[i]);
    for (ValueId v : node.inputs)
      if (v != kNone) used[static_cast<size_t>(v)] = true;
  }
  const bool changed = kept.size() != graph.order.size();
  graph.order.assign(kept.rbegin(), kept.rend());
  return erase_unused_constants(graph) > 0 || changed;
}

static const RegisterPass pass({"remove_dead", Stage::Simplify, "drops nodes whose outputs nobody uses", &remove_dead});

}  // namespace hw
