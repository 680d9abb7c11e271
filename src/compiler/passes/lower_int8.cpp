// lower_int8: a linear layer between dequantised operands is computed in integers, when frozen.
#include <optional>

#include "compiler/add_call.h"
#include "compiler/pass.h"
#include "compiler/passes/int8_layer.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "kernels/linalg/int8_linear.h"

namespace hw {

namespace {

/// linear(dequantize_linear(q, s, z), dequantize_linear(w, t), bias), where w is int8 without a zero point and w, s, z, t depend on
/// state alone, becomes _linear_int8(q, _pack_int8_weight(w), s t, bias - s z rows(w) t), with a relu behind it and a quantize_linear
/// behind that, where nothing else reads what lies between. Sums of products are exact in integers; what is rounded is the scaled
/// sum, once, and not each product: against the floats that the graph says, results differ by their rounding, and a quantised
/// result by one step where it lies between two.
class Lowering {
 public:
  explicit Lowering(Graph& graph) : g_(graph), steady_(steady_values(graph)), r_(graph), layers_(g_, r_, steady_) {}

  bool run() {
    if (!gives_outputs_only(g_)) return false;  // not frozen after all
    bool changed = false;
    const std::vector<NodeId> nodes = g_.order;
    for (NodeId n : nodes)
      if (const std::optional<Layer> layer = r_.placed(n) ? layer_of(n) : std::nullopt)
        lower(n, *layer), changed = true;
    return changed;
  }

 private:
  struct Layer : Int8Layer {
    ValueId bias = kNone;
  };

  std::optional<Layer> layer_of(NodeId n) const {
    const Node& node = g_.node(n);
    if (node.op != "linear" || g_.spec(node.outputs[0]).dtype != DType::F32) return std::nullopt;
    const std::optional<Int8Layer> found = layers_.read(node.inputs[0], node.inputs[1]);
    if (!found || g_.spec(found->weight).ndim() != 2) return std::nullopt;
    const Layer layer{*found, node.inputs[2]};
    if (layer.bias != kNone &&
        (g_.spec(layer.bias).dtype != DType::F32 || g_.spec(layer.bias).shape != Dims{g_.spec(layer.weight).shape[0]}))
      return std::nullopt;
    return layer;
  }

  ValueId call(NodeId at, const char* op, std::vector<ValueId> in, Attrs attrs) {
    return add_call(r_, at, op, std::move(in), std::move(attrs));
  }
  ValueId dense(NodeId at, ValueId v) { return g_.spec(v).contiguous() ? v : call(at, "clone", {v}, {}); }

  /// The node that alone reads v, if it is `op`.
  NodeId only_reader(ValueId v, std::string_view op) const {
    if (!r_.used_once(v)) return kNone;
    const NodeId n = r_.uses(v)[0].node;
    return n != kNone && g_.node(n).op == op ? n : kNone;
  }

  /// The bias, less what the zero point of the input adds to each sum.
  ValueId offset(NodeId at, const Layer& l) {
    if (l.zero == kNone) return l.bias == kNone ? kNone : dense(at, l.bias);
    const ValueId zero = call(at, "cast", {l.zero}, {DType::F32});
    const ValueId rows = call(at, "sum", {l.floats}, {Dims{1}, false, AttrValue()});
    const ValueId shift = call(at, "mul", {rows, call(at, "mul", {zero, l.scale}, {})}, {});
    return l.bias == kNone ? call(at, "neg", {shift}, {}) : call(at, "sub", {l.bias, shift}, {Scalar(1)});
  }

  void lower(NodeId n, const Layer& l) {
    NodeId last = n;
    const NodeId relu = only_reader(g_.node(n).outputs[0], "relu");
    if (relu != kNone) last = relu;
    NodeId quantize = only_reader(g_.node(last).outputs[0], "quantize_linear");
    if (quantize != kNone && g_.node(quantize).inputs[0] == g_.node(last).outputs[0] && layers_.quantizes(quantize))
      last = quantize;
    else
      quantize = kNone;
    const ValueId packed = call(last, "_pack_int8_weight", {l.weight}, {int8_width()});
    std::vector<ValueId> in{dense(last, l.q), packed, int8_product_scale(r_, last, l), offset(last, l), kNone, kNone};
    if (quantize != kNone) in[4] = g_.node(quantize).inputs[1], in[5] = g_.node(quantize).inputs[2];
    const ValueId made =
        call(last, "_linear_int8", std::move(in), {g_.spec(l.weight).shape[0], relu == kNone ? "none" : "relu"});
    r_.replace(g_.node(last).outputs[0], made);
    r_.erase_if_unused(last);
  }

  Graph& g_;
  std::vector<bool> steady_;
  Rewriter r_;
  Int8Layers layers_;
};

bool lower_int8(Graph& graph, const PassOptions& options) { return options.frozen && Lowering(graph).run(); }

const RegisterPass pass({"lower_int8", Stage::Precision,
                         "linear layers between dequantised operands are computed in integers (frozen only)",
                         &lower_int8});

}  // namespace

}  // namespace hw
