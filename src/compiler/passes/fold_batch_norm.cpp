// fold_batch_norm: a scale and shift of each channel after a convolution goes into its weight and bias, when frozen.
#include "compiler/add_call.h"
#include "compiler/pass.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "op/op_def.h"

namespace hw {

namespace {

/// Inference with running statistics is captured as addcmul(shift, convolution(x, weight, bias), scale), where shift and scale
/// are views [1, channels, 1, ...] of vectors that depend on state alone. What is made of them here depends on state alone
/// too, so it is computed once. The result differs by rounding.
class BatchNorm {
 public:
  explicit BatchNorm(Graph& graph) : g_(graph), frozen_(steady_values(graph)), r_(graph) {}

  bool run() {
    for (const GraphResult& r : g_.results)
      if (r.kind == GraphResult::Kind::Update) return false;  // not frozen after all
    bool changed = false;
    for (NodeId n : find_nodes(g_, "addcmul")) changed |= fold(n);
    return changed;
  }

 private:
  bool is_frozen(ValueId v) const {
    return static_cast<size_t>(v) >= frozen_.size() || frozen_[static_cast<size_t>(v)];
  }

  /// [channels] behind a view [1, channels, 1, ...], or kNone.
  ValueId by_channel(ValueId v, const TensorSpec& y) const {
    if (!is_frozen(v) || g_.spec(v).dtype != y.dtype) return kNone;
    Dims want(y.shape.size(), 1);
    want[1] = y.shape[1];
    const Node* view = r_.made_by(v, "view");
    if (g_.spec(v).shape != want || !view) return kNone;
    return g_.spec(view->inputs[0]).shape == Dims{y.shape[1]} ? view->inputs[0] : kNone;
  }

  bool fold(NodeId n) {
    const Node node = g_.node(n);
    if (node.attrs[0].f64() != 1) return false;
    const TensorSpec y = g_.spec(node.outputs[0]);
    size_t at = 1;  // the convolution may be either factor
    if (!r_.made_by(node.inputs[1], "convolution")) at = 2;
    const Node* made = r_.made_by(node.inputs[at], "convolution");
    if (!made || y.ndim() < 3 || g_.spec(node.inputs[at]).shape != y.shape || !r_.used_once(node.inputs[at]))
      return false;
    const Node convolution = *made;
    const ValueId weight = convolution.inputs[1], bias = convolution.inputs[2];
    const ValueId shift = by_channel(node.inputs[0], y), scale = by_channel(node.inputs[3 - at], y);
    if (shift == kNone || scale == kNone || !is_frozen(weight) || (bias != kNone && !is_frozen(bias))) return false;
    if (!same_spec(g_.spec(node.inputs[at]), y)) return false;
    if (g_.spec(weight).dtype != y.dtype) return false;

    Dims by_row(g_.spec(weight).shape.size(), 1);
    by_row[0] = g_.spec(weight).shape[0];
    const ValueId rows = add_call(r_, n, "view", {scale}, {by_row});
    const ValueId scaled = add_call(r_, n, "mul", {weight, rows}, {});
    const ValueId moved = bias == kNone ? shift : add_call(r_, n, "addcmul", {shift, bias, scale}, node.attrs);
    const ValueId out = r_.add(n, "convolution", {convolution.inputs[0], scaled, moved}, convolution.attrs, y);
    r_.replace(node.outputs[0], out);
    r_.erase_if_unused(n);
    return true;
  }

  Graph& g_;
  std::vector<bool> frozen_;
  Rewriter r_;
};

bool fold_batch_norm(Graph& graph, const PassOptions& options) { return options.frozen && BatchNorm(graph).run(); }

const RegisterPass pass({"fold_batch_norm", Stage::Simplify,
                         "takes batch norm into the convolution before it (frozen only)", &fold_batch_norm});

}  // namespace

}  // namespace hw
