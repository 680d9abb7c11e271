// Following views to the memory they look at.
#include "compiler/roots.h"

#include "compiler/check_graph.h"
#include "op/rules.h"

namespace hw {

/// A view of another dtype counts its elements differently.
static bool keeps_elements(const OpDef& op) { return op.outputs()[0].dtype == &dtype::same; }

Roots::Roots(const Graph& g) : at_(g.values.size()), result_(g.values.size()), shared_(g.values.size()) {
  for (size_t v = 0; v < at_.size(); ++v) at_[v].root = static_cast<ValueId>(v);
  for (NodeId n : g.order) {
    const Node& node = g.node(n);
    const OpDef* op = find_op(node.op);
    if (!op || op->kind() != OpKind::View || node.inputs.empty() || node.inputs[0] == kNone) continue;
    const size_t x = static_cast<size_t>(node.inputs[0]), y = static_cast<size_t>(node.outputs[0]);
    at_[y].root = at_[x].root;
    at_[y].known = at_[x].known && keeps_elements(*op);
    if (at_[y].known) at_[y].offset = at_[x].offset + op->view_rule()(g.values[x].spec, node.attrs).offset;
  }
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
  return !is_result(gone) || graph.values[static_cast<size_t>(root(kept))].producer != kNone;
}

}  // namespace hw
