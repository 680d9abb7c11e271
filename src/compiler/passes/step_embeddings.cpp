// step_embeddings: a gradient of an embedding table that only the optimiser's step reads is never made. The step takes the gradients of
// the rows that were looked up instead, and adds up those of one row as it goes; each row sees the same gradient as before.
#include "compiler/pass.h"
#include "op/op_def.h"
#include "op/rules.h"

namespace hw {

namespace {

bool is_step(const Node& n) {
  return (n.op == "sgd_step" || n.op == "adam_step" || n.op == "adagrad_step" || n.op == "rmsprop_step") &&
         n.inputs.size() > 1 && n.inputs[1] != kNone;
}

/// How often each value is read, by nodes or as a result.
std::vector<int32_t> count_uses(const Graph& g) {
  std::vector<int32_t> uses(g.values.size());
  for (NodeId id : g.order)
    for (ValueId v : g.node(id).inputs)
      if (v != kNone) ++uses[static_cast<size_t>(v)];
  for (const GraphResult& r : g.results) ++uses[static_cast<size_t>(r.value)];
  return uses;
}

/// Makes `step` read what `gradient` reads.
void join(Node& step, const Node& gradient) {
  step.op = "embedding_" + step.op;
  step.inputs[1] = gradient.inputs[0];
  step.inputs.insert(step.inputs.begin() + 2, gradient.inputs[1]);
  step.attrs.push_back(gradient.attrs[1]);
  step.attrs.push_back(gradient.attrs[2]);
}

bool step_embeddings(Graph& g, const PassOptions&) {
  const std::vector<int32_t> uses = count_uses(g);
  std::vector<bool> gone(g.nodes.size());
  bool changed = false;
  for (NodeId id : g.order) {
    Node& step = g.node(id);
    if (!is_step(step)) continue;
    const NodeId from = g.values[static_cast<size_t>(step.inputs[1])].producer;
    if (from == kNone || g.node(from).op != "_embedding_grad" || uses[static_cast<size_t>(step.inputs[1])] != 1)
      continue;
    join(step, g.node(from));
    gone[static_cast<size_t>(from)] = changed = true;
  }
  std::erase_if(g.order, [&](NodeId id) { return gone[static_cast<size_t>(id)]; });
  return changed;
}

const RegisterPass pass({"step_embeddings", Stage::Fuse,
                         "optimiser steps of embedding tables without the gradient of the whole table",
                         &step_embeddings});

}  // namespace

}  // namespace hw
