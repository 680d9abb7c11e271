// fold_constants: nodes whose inputs are all constants are computed now.
#include "compiler/evaluate.h"
#include "compiler/pass.h"
#include "compiler/roots.h"
#include "ir/rewrite.h"
#include "op/op_def.h"

namespace hw {

namespace {

class Folding {
 public:
  Folding(Graph& graph, const PassOptions& options)
      : g_(graph), options_(options), roots_(graph), data_(graph.values.size()), folded_(graph.nodes.size(), false) {}

  bool run() {
    for (const GraphSource& s : g_.sources)
      if (s.kind == GraphSource::Kind::Constant) data_[static_cast<size_t>(s.value)] = s.tensor;
    bool any = false;
    for (NodeId n : g_.order) any |= folded_[static_cast<size_t>(n)] = fold(g_.node(n));
    if (any) replace();
    return any;
  }

 private:
  bool foldable(const Node& node) const {
    const OpDef* op = find_op(node.op);
    if (!op || op->kind() == OpKind::Composite || op->is_random() || !node.bindings.empty()) return false;
    if (node.op.starts_with("empty")) return false;  // has no value to keep
    int64_t bytes_in = 0, bytes_out = 0;
    for (ValueId v : node.inputs) {
      if (v == kNone) continue;
      const Tensor& t = data_[static_cast<size_t>(v)];
      if (!t.defined()) return false;
      bytes_in += static_cast<int64_t>(t.nbytes());
    }
    for (ValueId v : node.outputs) {
      if (roots_.is_shared(v)) return false;
      bytes_out += g_.spec(v).numel() * dtype_size(g_.spec(v).dtype);
    }
    return bytes_out <= std::max(bytes_in, options_.most_folded_bytes);
  }

  bool fold(const Node& node) {
    if (!foldable(node)) return false;
    std::vector<Tensor> inputs, outputs;
    for (ValueId v : node.inputs) inputs.push_back(v == kNone ? Tensor() : data_[static_cast<size_t>(v)]);
    outputs = evaluate_node(g_, node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) data_[static_cast<size_t>(node.outputs[i])] = outputs[i];
    return !outputs.empty();
  }

  /// Only what is still used becomes a constant of the graph.
  void replace() {
    Rewriter r(g_);
    for (NodeId n = r.last(); n != kNone;) {
      const NodeId at = n;
      n = r.previous(n);
      if (!folded_[static_cast<size_t>(at)]) continue;
      for (ValueId v : std::vector<ValueId>(g_.node(at).outputs)) {
        if (r.unused(v)) continue;
        r.replace(v, r.add_source(GraphSource::Kind::Constant, g_.spec(v), "", data_[static_cast<size_t>(v)]));
      }
      r.erase(at);
    }
  }

  Graph& g_;
  const PassOptions& options_;
  Roots roots_;
  std::vector<Tensor> data_;  // by value
  std::vector<bool> folded_;  // by node
};

bool fold_constants(Graph& graph, const PassOptions& options) { return Folding(graph, options).run(); }

const RegisterPass pass({"fold_constants", Stage::Simplify, "computes what depends on constants alone",
                         &fold_constants});

}  // namespace

}  // namespace hw
