// Graph surgery.
#include "ir/rewrite.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

Rewriter::Rewriter(Graph& graph) : g_(graph), uses_(graph.values.size()) {
  const size_t n = g_.nodes.size();
  next_.assign(n + 1, kNone);
  previous_.assign(n + 1, kNone);
  placed_.assign(n, false);
  NodeId before = kNone;
  for (NodeId at : g_.order) {
    placed_[static_cast<size_t>(at)] = true;
    next_[slot_of(before)] = at;
    previous_[static_cast<size_t>(at)] = before;
    before = at;
    const Node& node = g_.node(at);
    for (size_t i = 0; i < node.inputs.size(); ++i) add_use(node.inputs[i], {at, static_cast<int32_t>(i)});
  }
  previous_.back() = before;
  for (size_t i = 0; i < g_.results.size(); ++i) add_use(g_.results[i].value, {kNone, static_cast<int32_t>(i)});
}

void Rewriter::finish() {
  g_.order.clear();
  for (NodeId n = first(); n != kNone; n = next(n)) g_.order.push_back(n);
}

void Rewriter::add_use(ValueId v, Use use) {
  if (v != kNone) uses_[static_cast<size_t>(v)].push_back(use);
}

void Rewriter::drop_use(ValueId v, Use use) {
  if (v == kNone) return;
  std::vector<Use>& list = uses_[static_cast<size_t>(v)];
  auto at = std::find(list.begin(), list.end(), use);
  if (at == list.end()) bug("value %", v, " has no such use");
  list.erase(at);
}

bool Rewriter::is_result(ValueId v) const {
  for (const Use& use : uses(v))
    if (use.node == kNone) return true;
  return false;
}

const Node* Rewriter::made_by(ValueId v, std::string_view op) const {
  const Node* p = v == kNone ? nullptr : g_.producer(v);
  return p && p->op == op ? p : nullptr;
}

NodeId Rewriter::made_for_one(ValueId v) const {
  return v != kNone && used_once(v) && !is_result(v) ? g_.values[static_cast<size_t>(v)].producer : kNone;
}

void Rewriter::set_input(NodeId n, size_t slot, ValueId v) {
  ValueId& at = g_.node(n).inputs[slot];
  Use use{n, static_cast<int32_t>(slot)};
  drop_use(at, use);
  at = v;
  add_use(v, use);
}

void Rewriter::set_result(size_t result, ValueId v) {
  Use use{kNone, static_cast<int32_t>(result)};
  drop_use(g_.results[result].value, use);
  g_.results[result].value = v;
  add_use(v, use);
}

void Rewriter::replace(ValueId from, ValueId to) {
  if (from == to) return;
  std::vector<Use> list = std::move(uses_[static_cast<size_t>(from)]);
  uses_[static_cast<size_t>(from)].clear();
  for (const Use& use : list) {
    if (use.node == kNone)
      g_.results[static_cast<size_t>(use.slot)].value = to;
    else
      g_.node(use.node).inputs[static_cast<size_t>(use.slot)] = to;
    add_use(to, use);
  }
}

NodeId Rewriter::insert(NodeId before, NodeId origin_of, std::string op, std::vector<ValueId> inputs, Attrs attrs,
                        std::span<const TensorSpec> outputs) {
  const int32_t origin = origin_of == kNone ? 0 : node(origin_of).origin;
  const NodeId n = g_.make_node(std::move(op), std::move(inputs), std::move(attrs), outputs, origin);
  uses_.resize(g_.values.size());
  placed_.push_back(true);
  // The end of the list moves up by one.
  next_.push_back(next_.back());
  previous_.push_back(previous_.back());
  const NodeId after = previous_[slot_of(before)];
  next_[static_cast<size_t>(n)] = before;
  previous_[static_cast<size_t>(n)] = after;
  next_[slot_of(after)] = n;
  previous_[slot_of(before)] = n;
  const std::vector<ValueId>& read = node(n).inputs;
  for (size_t i = 0; i < read.size(); ++i) add_use(read[i], {n, static_cast<int32_t>(i)});
  return n;
}

NodeId Rewriter::insert_before(NodeId at, std::string op, std::vector<ValueId> inputs, Attrs attrs,
                               std::span<const TensorSpec> outputs) {
  return insert(at, at, std::move(op), std::move(inputs), std::move(attrs), outputs);
}

NodeId Rewriter::insert_after(NodeId at, std::string op, std::vector<ValueId> inputs, Attrs attrs,
                              std::span<const TensorSpec> outputs) {
  return insert(at == kNone ? first() : next(at), at, std::move(op), std::move(inputs), std::move(attrs), outputs);
}

ValueId Rewriter::add(NodeId at, std::string op, std::vector<ValueId> inputs, Attrs attrs, const TensorSpec& output) {
  return node(insert_before(at, std::move(op), std::move(inputs), std::move(attrs), std::span(&output, 1))).outputs[0];
}

ValueId Rewriter::add_source(GraphSource::Kind kind, TensorSpec spec, std::string name, Tensor constant) {
  ValueId v = g_.add_source(kind, std::move(spec), std::move(name), std::move(constant));
  uses_.resize(g_.values.size());
  return v;
}

void Rewriter::take_over(NodeId at, NodeId grown, std::vector<ValueId> inputs, Attrs attrs) {
  const ValueId y = g_.node(at).outputs[0];
  const NodeId made = insert_before(at, g_.node(grown).op, std::move(inputs), std::move(attrs),
                                    {&g_.values[static_cast<size_t>(y)].spec, 1});
  g_.node(made).origin = g_.node(grown).origin;
  replace(y, g_.node(made).outputs[0]);
  erase(at);
  erase(grown);
}

void Rewriter::erase(NodeId n) {
  const Node& gone = node(n);
  if (!placed(n)) bug("node ", n, ", ", gone.op, ", is not in the graph");
  for (ValueId v : gone.outputs)
    if (!unused(v)) bug("node ", n, ", ", gone.op, ", cannot be erased: %", v, " is used");
  for (size_t i = 0; i < gone.inputs.size(); ++i) drop_use(gone.inputs[i], {n, static_cast<int32_t>(i)});
  placed_[static_cast<size_t>(n)] = false;
  next_[slot_of(previous(n))] = next(n);
  previous_[slot_of(next(n))] = previous(n);
}

int Rewriter::erase_if_unused(NodeId n) {
  int erased = 0;
  std::vector<NodeId> list{n};
  while (!list.empty()) {
    NodeId at = list.back();
    list.pop_back();
    if (!placed(at)) continue;
    bool used = false;
    for (ValueId v : node(at).outputs) used = used || !unused(v);
    if (used) continue;
    erase(at);
    ++erased;
    for (ValueId v : node(at).inputs)
      if (v != kNone && g_.values[static_cast<size_t>(v)].producer != kNone)
        list.push_back(g_.values[static_cast<size_t>(v)].producer);
  }
  return erased;
}

std::vector<NodeId> find_nodes(const Graph& graph, std::string_view op) {
  std::vector<NodeId> out;
  for (NodeId n : graph.order)
    if (graph.node(n).op == op) out.push_back(n);
  return out;
}

std::vector<bool> computed_from(const Graph& graph, unsigned kinds) {
  std::vector<bool> yes(graph.values.size(), false);
  for (const GraphSource& s : graph.sources)
    if (kinds >> static_cast<unsigned>(s.kind) & 1) yes[static_cast<size_t>(s.value)] = true;
  for (NodeId n : graph.order) {
    const Node& node = graph.node(n);
    bool all = node.bindings.empty();
    for (ValueId v : node.inputs) all = all && (v == kNone || yes[static_cast<size_t>(v)]);
    for (ValueId v : node.outputs) yes[static_cast<size_t>(v)] = all;
  }
  return yes;
}

int erase_unused_constants(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (NodeId n : graph.order)
    for (ValueId v : graph.node(n).inputs)
      if (v != kNone) used[static_cast<size_t>(v)] = true;
  for (const GraphResult& r : graph.results) used[static_cast<size_t>(r.value)] = true;
  std::vector<int32_t> to(graph.sources.size(), kNone);
  size_t kept = 0;
  for (size_t s = 0; s < graph.sources.size(); ++s) {
    const ValueId v = graph.sources[s].value;
    if (graph.sources[s].kind == GraphSource::Kind::Constant && !used[static_cast<size_t>(v)]) {
      graph.values[static_cast<size_t>(v)].slot = kNone;
      continue;
    }
    to[s] = static_cast<int32_t>(kept);
    graph.values[static_cast<size_t>(v)].slot = static_cast<int32_t>(kept);
    if (kept != s) graph.sources[kept] = std::move(graph.sources[s]);
    ++kept;
  }
  const int erased = static_cast<int>(graph.sources.size() - kept);
  graph.sources.resize(kept);
  for (GraphResult& r : graph.results)
    if (r.kind != GraphResult::Kind::Output) r.source = to[static_cast<size_t>(r.source)];
  return erased;
}

}  // namespace hw
