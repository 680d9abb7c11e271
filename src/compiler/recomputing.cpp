// Copies of nodes in front of late uses of their results, and which of them save memory at the peak.
#include "compiler/recomputing.h"

#include <algorithm>
#include <cmath>

#include "compiler/check_graph.h"
#include "compiler/pass.h"
#include "compiler/regions/region.h"
#include "op/call_cost.h"
#include "op/cost.h"

namespace hw {

/// Operations of a node, dearer in loops of one element after the other, as in pools and sorts. What is bound by memory has none.
static double operations_of(const Graph& g, const Node& n) {
  const OpDef* op = find_op(n.op);
  if (!op || cost::is_bandwidth_bound(*op)) return 0;
  std::vector<TensorSpec> out;
  for (ValueId v : n.outputs) out.push_back(g.spec(v));
  return cost::call_cost(*op, input_specs(g, n), n.attrs, out).time();
}

/// What a node costs: its operations, and the bytes it moves at the price of a few operations each. Infinite for loops and
/// branches: how much they do is known only when they run.
static double cost_of(const Graph& g, const Node& n) {
  double bytes = 0, flops = 0;
  for (ValueId v : n.inputs)
    if (v != kNone) bytes += static_cast<double>(g.spec(v).numel() * dtype_size(g.spec(v).dtype));
  for (ValueId v : n.outputs) bytes += static_cast<double>(g.spec(v).numel() * dtype_size(g.spec(v).dtype));
  if (!n.bodies.empty() && n.op != kRegion && n.op != kOnce) return HUGE_VAL;
  if (!n.bodies.empty()) {
    for (NodeId id : n.bodies[0]->order) flops += cost_of(*n.bodies[0], n.bodies[0]->node(id)) / 8;
  } else {
    flops = operations_of(g, n);
  }
  return flops + 4 * bytes;
}

void Recomputing::look() {
  profile_ = memory_profile(g_);
  position_.assign(g_.nodes.size(), 0);
  for (size_t i = 0; i < g_.order.size(); ++i) position_[static_cast<size_t>(g_.order[i])] = static_cast<int32_t>(i);
}

double Recomputing::total_cost() const {
  double sum = 0;
  for (NodeId id : g_.order)
    if (const double cost = cost_of(g_, g_.node(id)); std::isfinite(cost)) sum += cost;
  return sum;
}

/// Whether a source, or what shows one, still has its old content at `at`: an update in place must not have met it.
bool Recomputing::source_is_old(ValueId v, int32_t at) const {
  const int32_t source = g_.source_of(v);
  for (const GraphResult& r : g_.results) {
    if (r.kind != GraphResult::Kind::Update || (source != kNone && r.source != source)) continue;
    const NodeId p = g_.values[static_cast<size_t>(r.value)].producer;
    if (p == kNone || position_[static_cast<size_t>(p)] < at) return false;
  }
  return true;
}

/// The nodes that make a value again from what is alive at its late use: its own, and those whose results died in between.
bool Recomputing::find_chain(Choice& c) const {
  constexpr size_t kLongest = 24;
  std::vector<NodeId> open{g_.values[static_cast<size_t>(profile_.lives[static_cast<size_t>(c.life)].root)].producer};
  double cost = 0;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (std::find(c.chain.begin(), c.chain.end(), id) != c.chain.end()) continue;
    if (c.chain.size() == kLongest) return false;
    c.chain.push_back(id);
    const Node& n = g_.node(id);
    if (n.op == "_exchange") return false;  // other processes send once
    cost += cost_of(g_, n);
    int64_t elements = 1;  // of its largest operand, which for a reduction is what it reads
    for (ValueId v : n.inputs)
      if (v != kNone) elements = std::max(elements, g_.spec(v).numel());
    for (ValueId v : n.outputs) elements = std::max(elements, g_.spec(v).numel());
    c.densest = std::max(c.densest, operations_of(g_, n) / static_cast<double>(elements));
    for (ValueId v : n.inputs) {
      if (v == kNone) continue;
      const int32_t l = profile_.life_of[static_cast<size_t>(v)];
      const NodeId p = g_.values[static_cast<size_t>(v)].producer;
      if (l == kNone) {
        if (!source_is_old(v, c.from)) return false;
      } else if (l != c.life && !alive_at(l, c.from)) {
        open.push_back(p);
      } else if (l == c.life && p != kNone && p != id) {
        return false;  // a view of what is to be made
      }
    }
  }
  std::sort(c.chain.begin(), c.chain.end(),
            [&](NodeId a, NodeId b) { return position_[static_cast<size_t>(a)] < position_[static_cast<size_t>(b)]; });
  c.cost = cost;
  return true;
}

/// The values that live across the peak without being used there, and can be made again.
std::vector<Recomputing::Choice> Recomputing::choices() const {
  std::vector<Choice> out;
  const int32_t peak = profile_.peak_at;
  for (size_t i = 0; i < profile_.lives.size(); ++i) {
    const Life& l = profile_.lives[i];
    if (l.held || l.bytes == 0 || l.made >= peak || l.last <= peak) continue;
    auto use = std::lower_bound(l.uses.begin(), l.uses.end(), peak);
    if (use == l.uses.end() || *use == peak) continue;
    Choice c;
    c.life = static_cast<int32_t>(i);
    c.from = *use;
    c.idle = *use - (use == l.uses.begin() ? l.made : use[-1]);
    c.bytes = l.bytes;
    if (find_chain(c)) out.push_back(std::move(c));
  }
  return out;
}

/// Copies of the chain in front of the first late use; from there on everything reads the copies, and the views that late users
/// read of the originals are made again as well.
void Recomputing::apply(const Choice& c) {
  std::vector<ValueId> renamed(g_.values.size(), kNone);
  std::vector<bool> again(g_.nodes.size());
  for (NodeId id : c.chain) again[static_cast<size_t>(id)] = true;
  std::vector<NodeId> made;
  for (int32_t at = position_[static_cast<size_t>(c.chain.front())]; at < c.from; ++at) {
    const NodeId id = g_.order[static_cast<size_t>(at)];
    const Node source = g_.node(id);
    const OpDef* op = find_op(source.op);
    const bool view = op && op->kind() == OpKind::View && renamed[static_cast<size_t>(source.inputs[0])] != kNone;
    if (!again[static_cast<size_t>(id)] && !view) continue;
    std::vector<TensorSpec> specs;
    for (ValueId v : source.outputs) specs.push_back(g_.spec(v));
    std::vector<ValueId> inputs = source.inputs;
    for (ValueId& v : inputs)
      if (v != kNone && renamed[static_cast<size_t>(v)] != kNone) v = renamed[static_cast<size_t>(v)];
    const NodeId copy = g_.make_node(source.op, std::move(inputs), source.attrs, specs, source.origin);
    g_.node(copy).bindings = source.bindings;
    g_.node(copy).bodies = source.bodies;
    for (size_t i = 0; i < source.outputs.size(); ++i)
      renamed[static_cast<size_t>(source.outputs[i])] = g_.node(copy).outputs[i];
    made.push_back(copy);
  }
  for (size_t at = static_cast<size_t>(c.from); at < g_.order.size(); ++at)
    for (ValueId& v : g_.node(g_.order[at]).inputs)
      if (v != kNone && static_cast<size_t>(v) < renamed.size() && renamed[static_cast<size_t>(v)] != kNone)
        v = renamed[static_cast<size_t>(v)];
  g_.order.insert(g_.order.begin() + c.from, made.begin(), made.end());
}

}  // namespace hw
