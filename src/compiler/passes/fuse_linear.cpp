// fuse_linear: a linear layer whose weight is state takes it packed, with the residual and the activation behind it, when frozen.
#include <map>
#include <optional>

#include "compiler/add_call.h"
#include "compiler/pass.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "kernels/linalg/packed_linear.h"

namespace hw {

namespace {

constexpr int64_t kLeastWeight = 1 << 13;  // elements; smaller weights are as fast unpacked

/// linear(x, weight, bias), mm(x, weight^T) and addmm(bias, x, weight^T), then add(..., residual), then an activation, become
/// _linear_packed(x, _pack_linear_weight(weight), bias, residual); packing depends on state alone, so it runs once. The
/// products are summed in another order than eager kernels take, which rounds differently; what follows them does not.
class Linears {
 public:
  explicit Linears(Graph& graph) : g_(graph), frozen_(steady_values(graph)), r_(graph) {}

  bool run() {
    if (!gives_outputs_only(g_)) return false;  // not frozen after all
    bool changed = false;
    const std::vector<NodeId> nodes = g_.order;
    for (NodeId n : nodes)
      if (const std::optional<Layer> layer = r_.placed(n) ? layer_of(n) : std::nullopt) fuse(n, *layer), changed = true;
    return changed;
  }

 private:
  struct Layer {
    ValueId x = kNone, weight = kNone, bias = kNone;
    bool transposed = false;  // the weight is [in_features, out_features]
  };

  /// Of the values that were there before: what a layer makes is none.
  bool is_frozen(ValueId v) const { return static_cast<size_t>(v) < frozen_.size() && frozen_[static_cast<size_t>(v)]; }
  bool is_f32(ValueId v) const { return g_.spec(v).dtype == DType::F32; }
  static bool is_one(const AttrValue& a) { return a.scalar().f64() == 1; }

  std::optional<Layer> layer_of(NodeId n) const {
    const Node& node = g_.node(n);
    Layer layer;
    if (node.op == "linear") {
      layer = {node.inputs[0], node.inputs[1], node.inputs[2], false};
    } else if (node.op == "mm") {
      layer = {node.inputs[0], node.inputs[1], kNone, true};
    } else if (node.op == "addmm") {
      if (!is_one(node.attrs[0]) || !is_one(node.attrs[1])) return std::nullopt;
      layer = {node.inputs[1], node.inputs[2], node.inputs[0], true};
    } else {
      return std::nullopt;
    }
    const ValueId y = node.outputs[0];
    if (!is_f32(layer.x) || !is_f32(layer.weight) || !is_f32(y) || is_frozen(layer.x) || !is_frozen(layer.weight))
      return std::nullopt;
    if (g_.spec(layer.weight).numel() < kLeastWeight || !g_.spec(y).contiguous()) return std::nullopt;
    if (layer.bias != kNone && (!is_f32(layer.bias) || g_.spec(layer.bias).shape != Dims{g_.spec(y).shape.back()} ||
                                !g_.spec(layer.bias).contiguous()))
      return std::nullopt;
    return layer;
  }

  /// The only reader of a value, or kNone.
  NodeId only_reader(ValueId v) const { return r_.used_once(v) ? r_.uses(v)[0].node : kNone; }

  /// What is added to v, if that is all that is done with v; `next` is the sum.
  ValueId residual_of(ValueId v, NodeId& next) const {
    const NodeId n = only_reader(v);
    if (n == kNone || g_.node(n).op != "add" || !is_one(g_.node(n).attrs[0])) return kNone;
    const Node& sum = g_.node(n);
    const ValueId other = sum.inputs[0] == v ? sum.inputs[1] : sum.inputs[0];
    if (other == v || !is_f32(other) || g_.spec(other).shape != g_.spec(v).shape) return kNone;
    if (!g_.spec(other).contiguous() || !same_spec(g_.spec(sum.outputs[0]), g_.spec(v))) return kNone;
    next = n;
    return other;
  }

  std::string activation_of(ValueId v, NodeId& next) const {
    const NodeId n = only_reader(v);
    if (n == kNone) return "none";
    const Node& node = g_.node(n);
    const bool known =
        node.op == "relu" || node.op == "tanh" || node.op == "sigmoid" || node.op == "silu" || node.op == "gelu";
    if (!known || !same_spec(g_.spec(node.outputs[0]), g_.spec(v))) return "none";
    next = n;
    return node.op == "gelu" && node.attrs[0].text() == "tanh" ? "gelu_tanh" : node.op;
  }

  ValueId packed(NodeId n, const Layer& layer) {
    ValueId& made = packed_.try_emplace({layer.weight, layer.transposed}, kNone).first->second;
    if (made != kNone) return made;
    ValueId weight = layer.weight;
    if (layer.transposed) weight = add_call(r_, n, "transpose", {weight}, {int64_t{0}, int64_t{1}});
    return made = add_call(r_, n, "_pack_linear_weight", {weight}, {packed_width()});
  }

  void fuse(NodeId n, const Layer& layer) {
    const ValueId y = g_.node(n).outputs[0];
    NodeId last = n;
    const ValueId residual = residual_of(y, last);
    const std::string activation = activation_of(g_.node(last).outputs[0], last);
    const ValueId weight = packed(n, layer);
    // At the last node that is replaced: the residual may be made after the product.
    const ValueId made = add_call(r_, last, "_linear_packed", {layer.x, weight, layer.bias, residual},
                                  {g_.spec(y).shape.back(), activation});
    r_.replace(g_.node(last).outputs[0], made);
    r_.erase_if_unused(last);
  }

  Graph& g_;
  std::vector<bool> frozen_;
  Rewriter r_;
  std::map<std::pair<ValueId, bool>, ValueId> packed_;
};

bool fuse_linear(Graph& graph, const PassOptions& options) { return options.frozen && Linears(graph).run(); }

const RegisterPass pass({"fuse_linear", Stage::Fuse,
                         "packs linear layers' weights, takes residual and activation along (frozen only)",
                         &fuse_linear});

}  // namespace

}  // namespace hw
