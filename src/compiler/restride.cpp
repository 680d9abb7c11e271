// Giving a value other strides; see the header.
#include "compiler/restride.h"

#include "base/error.h"
#include "compiler/check_graph.h"
#include "op/rules.h"

namespace hw {

/// The spec of a view whose input `slot` has another. False if that view cannot be.
static bool view_of(const Graph& graph, const Node& n, int32_t slot, const TensorSpec& input, TensorSpec& out) {
  std::vector<TensorSpec> in = input_specs(graph, n);
  in[static_cast<size_t>(slot)] = input;
  const OpDef& op = get_op(n.op);
  try {
    out = infer_outputs({op, in, n.attrs, compute_dtype(op, in)}).at(0);
  } catch (const Error&) {  // these strides cannot be seen in that shape without a copy
    return false;
  }
  return true;
}

bool restride(const Rewriter& r, const Graph& graph, ValueId v, const TensorSpec& spec,
              std::map<ValueId, TensorSpec>& changes) {
  changes[v] = spec;
  for (const Use& use : r.uses(v)) {
    if (use.node == kNone) return false;
    const Node& n = graph.node(use.node);
    const OpDef* op = find_op(n.op);
    if (!op || op->kind() != OpKind::View) continue;
    if (n.op == "as_strided") return false;  // names strides of its own
    TensorSpec out;
    if (!view_of(graph, n, use.slot, spec, out) || !restride(r, graph, n.outputs[0], out, changes)) return false;
  }
  return true;
}

void apply_specs(Graph& graph, const std::map<ValueId, TensorSpec>& changes) {
  for (const auto& [v, spec] : changes) graph.values[static_cast<size_t>(v)].spec = spec;
}

}  // namespace hw
