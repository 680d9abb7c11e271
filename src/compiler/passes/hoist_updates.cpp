// hoist_updates: what rewrites state runs as soon as it can, so that what it consumes dies early. An optimiser's step moves from the
// end of the program to where its gradient is made: gradients do not wait for each other in memory.
#include <algorithm>

#include "compiler/pass.h"

namespace hw {

namespace {

/// The nodes that make the new content of a source, by source number of what they update.
std::vector<bool> updating_nodes(const Graph& g) {
  std::vector<bool> updates(g.nodes.size());
  for (const GraphResult& r : g.results) {
    const NodeId p = g.values[static_cast<size_t>(r.value)].producer;
    if (r.kind == GraphResult::Kind::Update && p != kNone) updates[static_cast<size_t>(p)] = true;
  }
  return updates;
}

/// After which position a node may stand: behind its inputs, and behind all other readers of the sources that it updates, whose
/// memory it will overwrite.
int32_t earliest(const Graph& g, NodeId id, const std::vector<int32_t>& position,
                 const std::vector<int32_t>& last_reader) {
  int32_t after = -1;
  for (ValueId v : g.node(id).inputs) {
    if (v == kNone) continue;
    const NodeId p = g.values[static_cast<size_t>(v)].producer;
    after = std::max(after, p == kNone ? last_reader[static_cast<size_t>(v)] : position[static_cast<size_t>(p)]);
  }
  return after;
}

bool hoist_updates(Graph& g, const PassOptions&) {
  const std::vector<bool> updates = updating_nodes(g);
  std::vector<int32_t> position(g.nodes.size()), last_reader(g.values.size(), -1);
  // A view of a source reads it wherever the view is read: uses of views count for the source.
  std::vector<ValueId> shown(g.values.size());
  for (size_t v = 0; v < shown.size(); ++v) shown[v] = static_cast<ValueId>(v);
  for (size_t i = 0; i < g.order.size(); ++i) {
    const Node& n = g.node(g.order[i]);
    position[static_cast<size_t>(g.order[i])] = static_cast<int32_t>(i);
    for (ValueId v : n.inputs) {
      if (v == kNone) continue;
      const ValueId root = shown[static_cast<size_t>(v)];
      if (!updates[static_cast<size_t>(g.order[i])]) last_reader[static_cast<size_t>(root)] = static_cast<int32_t>(i);
    }
    if (n.inputs.size() == 1 && n.outputs.size() == 1 && n.inputs[0] != kNone)  // possibly a view
      shown[static_cast<size_t>(n.outputs[0])] = shown[static_cast<size_t>(n.inputs[0])];
  }
  struct Place {
    int32_t after;
    int32_t position;
    NodeId id;
  };
  std::vector<Place> places;
  for (size_t i = 0; i < g.order.size(); ++i) {
    const NodeId id = g.order[i];
    const int32_t at = static_cast<int32_t>(i);
    const int32_t after = updates[static_cast<size_t>(id)] ? earliest(g, id, position, last_reader) : at;
    places.push_back({std::min(after, at), at, id});
  }
  // Behind the node at `after`, in program order among themselves; an update that waits for an update comes after it in any case.
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.after < b.after; });
  std::vector<NodeId> order;
  std::vector<bool> placed(g.nodes.size());
  for (const Place& p : places) {
    order.push_back(p.id);
    placed[static_cast<size_t>(p.id)] = true;
  }
  for (NodeId id : order) {  // an update of an update: keep the order that was given
    for (ValueId v : g.node(id).inputs) {
      const NodeId p = v == kNone ? kNone : g.values[static_cast<size_t>(v)].producer;
      if (p != kNone && placed[static_cast<size_t>(p)]) return false;
    }
    placed[static_cast<size_t>(id)] = false;
  }
  const bool changed = order != g.order;
  g.order = std::move(order);
  return changed;
}

const RegisterPass pass({"hoist_updates", Stage::Remat, "updates state as soon as its new content is known",
                         &hoist_updates});

}  // namespace

}  // namespace hw
