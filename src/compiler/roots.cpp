// Following views to the memory they look at.
#include "compiler/roots.h"

#include "compiler/check_graph.h"
#include "op/rules.h"

namespace hw {

/// A view of another dtype counts its elements differently.
static bool keeps_elements(const OpDef& op) { return op.outputs()[0].dtype == &dtype::same; }

void Roots::place(const Graph& g, const Node& node) {
  for (size_t v = at_.size(); v < g.values.size(); ++v) at_.push_back({static_cast<ValueId>(v), 0, true});
  result_.resize(at_.size());
  shared_.resize(at_.size());
  const OpDef* op = find_op(node.op);
  if (!op || op->kind() != OpKind::View || node.inputs.empty() || node.inputs[0] == kNone) return;
  const Location& x = at_[static_cast<size_t>(node.inputs[0])];
  Location& y = at_[static_cast<size_t>(node.outputs[0])];
  y.root = x.root;
  y.known = x.known && keeps_elements(*op);
  if (y.known) y.offset = x.offset + op->view_rule()(g.spec(node.inputs[0]), node.attrs).offset;
}

void Roots::replaced(ValueId gone, ValueId kept) {
  const size_t from = static_cast<size_t>(root(gone)), to = static_cast<size_t>(root(kept));
  result_[to] = result_[to] || result_[from];
  shared_[to] = shared_[to] || shared_[from];
}

Roots::Roots(const Graph& g) {
  place(g, {});
  for (NodeId n : g.order) place(g, g.node(n));
  for (const GraphResult& r : g.results) {
    const ValueId root = at_[static_cast<size_t>(r.value)].root;
    result_[static_cast<size_t>(root)] = true;
    if (r.kind != GraphResult::Kind::Output || r.source == kNone) continue;
    for (const GraphResult& other : g.results)
      if (&other != &r && other.kind == r.kind && other.source == r.source) shared_[static_cast<size_t>(root)] = true;
  }
}

bool Roots::may_replace(const Graph& graph, ValueId gone, ValueId kept) const {
  if (is_shared(gone) || is_shared(kept)) return false;
  if (!is_result(gone)) return true;
  const bool whole = graph.spec(kept).numel() == graph.spec(root(kept)).numel();
  return graph.values[static_cast<size_t>(root(kept))].producer != kNone && (whole || root(kept) == root(gone));
}

}  // namespace hw
