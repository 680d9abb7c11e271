// lower_int8: a linear layer between dequantised operands is computed in integers, when frozen.
#include <optional>

#include "compiler/add_call.h"
#include "compiler/pass.h"
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
  explicit Lowering(Graph& graph) : g_(graph), steady_(steady_values(graph)), r_(graph) {}

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
  struct Layer {
    ValueId q = kNone, scale = kNone, zero = kNone;
    ValueId weight = kNone, weight_scale = kNone, floats = kNone;  // floats: the dequantised weight
    ValueId bias = kNone;
  };

  bool steady(ValueId v) const { return static_cast<size_t>(v) < steady_.size() && steady_[static_cast<size_t>(v)]; }
  bool is_f32(ValueId v) const { return g_.spec(v).dtype == DType::F32; }
  bool one_number(ValueId v) const { return v == kNone || (g_.spec(v).numel() == 1 && g_.spec(v).ndim() <= 1); }

  std::optional<Layer> layer_of(NodeId n) const {
    const Node& node = g_.node(n);
    if (node.op != "linear") return std::nullopt;
    const Node* x = r_.made_by(node.inputs[0], "dequantize_linear");
    const Node* w = r_.made_by(node.inputs[1], "dequantize_linear");
    if (!x || !w) return std::nullopt;
    const Layer layer{x->inputs[0], x->inputs[1],   x->inputs[2],  w->inputs[0],
                      w->inputs[1], node.inputs[1], node.inputs[2]};
    const TensorSpec &q = g_.spec(layer.q), &weight = g_.spec(layer.weight);
    const bool types = (q.dtype == DType::U8 || q.dtype == DType::I8) && weight.dtype == DType::I8 &&
                       is_f32(layer.scale) && is_f32(layer.weight_scale) && is_f32(node.outputs[0]) &&
                       (layer.zero == kNone || g_.spec(layer.zero).dtype == q.dtype);
    const bool still = steady(layer.scale) && steady(layer.weight) && steady(layer.weight_scale) && !steady(layer.q) &&
                       (layer.zero == kNone || steady(layer.zero));
    if (!types || !still || !x->attrs[0].none() || !one_number(layer.scale) || !one_number(layer.zero))
      return std::nullopt;
    if (w->inputs[2] != kNone || weight.ndim() != 2) return std::nullopt;
    const bool by_row = !w->attrs[0].none();
    if (by_row ? w->attrs[0].i64() != 0 && w->attrs[0].i64() != -2 : !one_number(layer.weight_scale))
      return std::nullopt;
    if (layer.bias != kNone && (!is_f32(layer.bias) || g_.spec(layer.bias).shape != Dims{weight.shape[0]}))
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

  /// A quantize_linear over the whole range of bytes by one steady step.
  bool serves(NodeId n) const {
    const Node& node = g_.node(n);
    const TensorSpec& y = g_.spec(node.outputs[0]);
    const bool is_signed = y.dtype == DType::I8;
    const auto is = [](const AttrValue& a, int64_t value) { return a.none() || a.i64() == value; };
    const ValueId zero = node.inputs[2];
    return (is_signed || y.dtype == DType::U8) && node.attrs[0].none() && is(node.attrs[2], is_signed ? -128 : 0) &&
           is(node.attrs[3], is_signed ? 127 : 255) && one_number(node.inputs[1]) && is_f32(node.inputs[1]) &&
           steady(node.inputs[1]) && one_number(zero) &&
           (zero == kNone ? !is_signed : g_.spec(zero).dtype == y.dtype && steady(zero));
  }

  /// One scale for each row of the weight, times the input's.
  ValueId product_scale(NodeId at, const Layer& l) {
    const Dims rows{g_.spec(l.weight).shape[0]};
    ValueId both = call(at, "mul", {l.weight_scale, l.scale}, {});
    if (g_.spec(both).shape != rows) both = call(at, "expand", {both}, {rows, false});
    return dense(at, both);
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
    if (quantize != kNone && g_.node(quantize).inputs[0] == g_.node(last).outputs[0] && serves(quantize))
      last = quantize;
    else
      quantize = kNone;
    const ValueId packed = call(last, "_pack_int8_weight", {l.weight}, {int8_width()});
    std::vector<ValueId> in{dense(last, l.q), packed, product_scale(last, l), offset(last, l), kNone, kNone};
    if (quantize != kNone) in[4] = g_.node(quantize).inputs[1], in[5] = g_.node(quantize).inputs[2];
    const ValueId made =
        call(last, "_linear_int8", std::move(in), {g_.spec(l.weight).shape[0], relu == kNone ? "none" : "relu"});
    r_.replace(g_.node(last).outputs[0], made);
    r_.erase_if_unused(last);
  }

  Graph& g_;
  std::vector<bool> steady_;
  Rewriter r_;
};

bool lower_int8(Graph& graph, const PassOptions& options) { return options.frozen && Lowering(graph).run(); }

const RegisterPass pass({"lower_int8", Stage::Precision,
                         "linear layers between dequantised operands are computed in integers (frozen only)",
                         &lower_int8});

}  // namespace

}  // namespace hw
