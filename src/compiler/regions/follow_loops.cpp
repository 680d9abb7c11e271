// The split rule of an operator, which serves devices, serves tiles as well: a split axis is a loop.
#include "compiler/regions/region.h"
#include "op/rules.h"

namespace hw {

bool is_tileable(const Node& node) {
  const OpDef* op = find_op(node.op);
  if (!op || op->kind() != OpKind::Kernel || op->is_random() || !node.bindings.empty() || !node.bodies.empty())
    return false;
  if (node.inputs.size() + node.outputs.size() > 8) return false;  // what a kernel in a loop may have
  if (op->has_dynamic_attrs() || node.op == "copy_" || node.op == "clone") return false;
  const std::string& file = op->file();  // the family is the folder of the declaration
  return file.find("ops/elementwise/") != std::string::npos || file.find("ops/reduce/") != std::string::npos ||
         node.op == "softmax" || node.op == "log_softmax" || node.op == "_softmax_grad" ||
         node.op == "_log_softmax_grad";
}

using Axes = SmallVec<int32_t, 8>;

/// Whether a signature fits what is known of the inputs for one loop, and splits all outputs.
static bool fits(const SbpSignature& s, std::span<const Axes> known, size_t loop) {
  for (const Sbp& o : s.outputs)
    if (!o.is_split()) return false;
  for (size_t i = 0; i < known.size(); ++i) {
    if (s.inputs[i].is_partial()) return false;
    const int32_t axis = s.inputs[i].is_split() ? static_cast<int32_t>(s.inputs[i].axis) : -1;
    if (!known[i].empty() && known[i][loop] != axis) return false;
  }
  return true;
}

NodeAxes follow_loops(const Graph& graph, const Node& node, std::span<const Axes> known, size_t loops) {
  const OpDef& op = get_op(node.op);
  std::vector<TensorSpec> in, out;
  for (ValueId v : node.inputs) in.push_back(v == kNone ? TensorSpec{} : graph.spec(v));
  for (ValueId v : node.outputs) out.push_back(graph.spec(v));
  const InferCtx infer{op, in, node.attrs, compute_dtype(op, in)};
  const std::vector<SbpSignature> list = sbp_signatures(infer, out);
  NodeAxes result{std::vector<Axes>(in.size()), std::vector<Axes>(out.size())};
  for (size_t loop = 0; loop < loops; ++loop) {
    const SbpSignature* found = nullptr;
    // With no input known yet, the loops walk along the first output's axes in order.
    bool any_known = false;
    for (const Axes& a : known) any_known = any_known || !a.empty();
    for (const SbpSignature& s : list) {
      if (!fits(s, known, loop)) continue;
      if (!any_known && s.outputs[0].axis != static_cast<int64_t>(loop)) continue;
      found = &s;
      break;
    }
    if (!found) break;
    for (size_t i = 0; i < in.size(); ++i)
      result.inputs[i].push_back(found->inputs[i].is_split() ? static_cast<int32_t>(found->inputs[i].axis) : -1);
    for (size_t i = 0; i < out.size(); ++i) result.outputs[i].push_back(static_cast<int32_t>(found->outputs[i].axis));
  }
  return result;
}

}  // namespace hw
