// merge_products: linear layers of one input become one product with their weights behind each other, when frozen.
#include <algorithm>
#include <map>

#include "compiler/add_call.h"
#include "compiler/pass.h"
#include "compiler/restride.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "op/op_def.h"

namespace hw {

namespace {

/// linear(x, w1, b1), linear(x, w2, b2), ... become slices of linear(x, cat(w1, w2, ...), cat(b1, b2, ...)), as query, key and
/// value of attention do. Joining the weights depends on state alone, so it runs once. Only layers whose results are read
/// through views are taken: others may have an activation to take along (fuse_linear). The product may be summed in another
/// order than those it replaces, which rounds differently.
class Merge {
 public:
  explicit Merge(Graph& graph) : g_(graph), frozen_(steady_values(graph)), r_(graph) {}

  bool run() {
    if (!gives_outputs_only(g_)) return false;                       // not frozen after all
    std::map<std::pair<ValueId, bool>, std::vector<NodeId>> groups;  // by input, and whether there is a bias
    std::vector<std::pair<ValueId, bool>> order;
    for (NodeId n : find_nodes(g_, "linear")) {
      if (!joins(g_.node(n))) continue;
      const std::pair<ValueId, bool> key{g_.node(n).inputs[0], g_.node(n).inputs[2] != kNone};
      if (groups[key].empty()) order.push_back(key);
      groups[key].push_back(n);
    }
    bool changed = false;
    for (const auto& key : order) changed |= merge(groups[key]);
    return changed;
  }

 private:
  bool is_frozen(ValueId v) const { return frozen_[static_cast<size_t>(v)]; }
  /// State or a constant, which stands in front of all nodes; or not given.
  bool is_source(ValueId v) const { return v == kNone || (is_frozen(v) && !g_.producer(v)); }

  bool joins(const Node& n) const {
    const ValueId x = n.inputs[0], y = n.outputs[0];
    if (is_frozen(x) || !is_source(n.inputs[1]) || !is_source(n.inputs[2])) return false;
    if (n.inputs[2] != kNone && g_.spec(n.inputs[2]).ndim() != 1) return false;
    return g_.spec(y).contiguous() && g_.spec(y).dtype == g_.spec(x).dtype && is_read_through_views(y);
  }

  bool is_view(const Use& use) const {
    const OpDef* op = use.node == kNone ? nullptr : find_op(g_.node(use.node).op);
    return op && op->kind() == OpKind::View;
  }

  bool is_read_through_views(ValueId y) const {
    const auto uses = r_.uses(y);
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return is_view(use); });
  }

  bool merge(const std::vector<NodeId>& group) {
    int64_t features = 0;
    for (NodeId n : group) features += g_.spec(g_.node(n).outputs[0]).shape.back();
    if (group.size() < 2) return false;
    std::map<ValueId, TensorSpec> changes;
    for (NodeId n : group) {
      TensorSpec y = g_.spec(g_.node(n).outputs[0]);
      for (size_t axis = 0; axis + 1 < y.shape.size(); ++axis)
        y.strides[axis] = y.strides[axis] / std::max<int64_t>(1, y.shape.back()) * features;
      if (!restride(r_, g_, g_.node(n).outputs[0], y, changes)) return false;
    }
    const NodeId at = group[0];
    const Node first = g_.node(at);
    const ValueId weight = joined(at, group, 1), bias = first.inputs[2] == kNone ? kNone : joined(at, group, 2);
    const ValueId all = add_call(r_, at, "linear", {first.inputs[0], weight, bias}, {});
    apply_specs(g_, changes);
    int64_t start = 0;
    const int64_t axis = g_.spec(all).ndim() - 1;
    for (NodeId n : group) {
      const ValueId y = g_.node(n).outputs[0];
      const int64_t end = start + g_.spec(y).shape.back();
      r_.replace(y, add_call(r_, at, "_slice", {all}, {axis, start, end, int64_t{1}}));
      start = end;
    }
    for (NodeId n : group) r_.erase(n);
    return true;
  }

  /// Input `slot` of all nodes behind each other.
  ValueId joined(NodeId at, const std::vector<NodeId>& group, size_t slot) {
    std::vector<ValueId> parts;
    for (NodeId n : group) parts.push_back(g_.node(n).inputs[slot]);
    return add_call(r_, at, "cat", std::move(parts), {int64_t{0}});
  }

  Graph& g_;
  std::vector<bool> frozen_;
  Rewriter r_;
};

bool merge_products(Graph& graph, const PassOptions& options) { return options.frozen && Merge(graph).run(); }

const RegisterPass pass({"merge_products", Stage::Fuse, "linear layers of one input as one product (frozen only)",
                         &merge_products});

}  // namespace

}  // namespace hw
