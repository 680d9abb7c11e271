// fuse_int8_convolutions: the sum with another image, a clamp and quantisation become a part of the convolution of bytes before.
#include "compiler/pass.h"
#include "compiler/passes/int8_layer.h"
#include "compiler/passes/value_range.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"

namespace hw {

namespace {

/// Bit for bit: the kernel does the same steps. Where the other image is a dequantised one, its bytes are read.
class Fusion {
 public:
  explicit Fusion(Graph& graph) : g_(graph), steady_(steady_values(graph)), r_(graph), layers_(g_, r_, steady_) {}

  bool run() {
    for (NodeId n = r_.first(); n != kNone;) {
      const NodeId at = n;
      n = r_.next(n);
      const std::string& op = g_.node(at).op;
      changed_ |= op == "add" ? sum(at) : op == "quantize_linear" ? quantisation(at) : activation(at);
    }
    for (NodeId n : sources_)
      if (r_.placed(n)) r_.erase_if_unused(n);
    return changed_;
  }

 private:
  static constexpr size_t kResidual = 5, kResidualScale = 6, kResidualZero = 7, kOutScale = 8, kOutZero = 9;
  static constexpr size_t kActivation = 5, kLow = 7;

  /// The convolution with float results that makes a value which only its one reader sees.
  NodeId convolution(ValueId v) const {
    const NodeId n = r_.made_for_one(v);
    const bool one = n != kNone && g_.node(n).op == "_conv2d_int8" && g_.node(n).inputs[kOutScale] == kNone;
    return one ? n : kNone;
  }
  bool bare(NodeId n) const { return g_.node(n).attrs[kActivation].text() == "none"; }

  bool sum(NodeId n) {
    const Node node = g_.node(n);
    if (node.attrs[0].scalar().f64() != 1 || node.inputs[0] == node.inputs[1]) return false;
    for (size_t side : {1, 0}) {  // the one that is made later, so that the other is there
      const ValueId y = node.inputs[side], other = node.inputs[1 - side];
      const NodeId c = convolution(y);
      if (c == kNone || !bare(c) || g_.node(c).inputs[kResidual] != kNone || !same_spec(g_.spec(y), g_.spec(other)) ||
          !same_spec(g_.spec(y), g_.spec(node.outputs[0])) || !g_.spec(other).contiguous())
        continue;
      std::vector<ValueId> inputs = g_.node(c).inputs;
      inputs[kResidual] = other;
      const Node* steps = r_.made_by(other, "dequantize_linear");
      if (steps && bytes(*steps)) {
        inputs[kResidual] = steps->inputs[0], inputs[kResidualScale] = steps->inputs[1],
        inputs[kResidualZero] = steps->inputs[2];
        sources_.push_back(g_.values[static_cast<size_t>(other)].producer);
      }
      r_.take_over(n, c, std::move(inputs), g_.node(c).attrs);
      return true;
    }
    return false;
  }

  bool bytes(const Node& n) const {
    const TensorSpec& q = g_.spec(n.inputs[0]);
    return (q.dtype == DType::U8 || q.dtype == DType::I8) && q.contiguous() && n.attrs[0].none() &&
           layers_.one_number(n.inputs[1]) && layers_.one_number(n.inputs[2]) &&
           g_.spec(n.inputs[1]).dtype == DType::F32 && (n.inputs[2] == kNone || g_.spec(n.inputs[2]).dtype == q.dtype);
  }

  bool activation(NodeId n) {
    double low, high;
    if (g_.node(n).outputs.size() != 1 || !limits_range(g_, g_.node(n), low, high)) return false;
    const NodeId c = convolution(g_.node(n).inputs[0]);
    if (c == kNone || !bare(c) || !same_spec(g_.spec(g_.node(n).inputs[0]), g_.spec(g_.node(n).outputs[0])))
      return false;
    Attrs attrs = g_.node(c).attrs;
    attrs[kActivation] = g_.node(n).op == "relu" ? "relu" : "clamp";
    if (g_.node(n).op != "relu") attrs[kLow] = low, attrs[kLow + 1] = high;
    r_.take_over(n, c, g_.node(c).inputs, std::move(attrs));
    return true;
  }

  bool quantisation(NodeId n) {
    if (!layers_.quantizes(n) || !g_.spec(g_.node(n).outputs[0]).contiguous()) return false;
    const NodeId c = convolution(g_.node(n).inputs[0]);
    if (c == kNone) return quantisation_beside(n);
    std::vector<ValueId> inputs = g_.node(c).inputs;
    inputs[kOutScale] = g_.node(n).inputs[1], inputs[kOutZero] = g_.node(n).inputs[2];
    r_.take_over(n, c, std::move(inputs), g_.node(c).attrs);
    return true;
  }

  /// Where floats are read too, as behind a residual block: the convolution gives both.
  bool quantisation_beside(NodeId n) {
    const ValueId y = g_.node(n).inputs[0], q = g_.node(n).outputs[0];
    const Node* made = r_.made_by(y, "_conv2d_int8");
    if (!made || made->inputs[kOutScale] != kNone) return false;
    const NodeId c = g_.values[static_cast<size_t>(y)].producer;
    for (NodeId between = r_.next(c); between != n; between = r_.next(between))  // who would read it too early
      for (ValueId v : g_.node(between).inputs)
        if (v == y) return false;
    std::vector<ValueId> inputs = made->inputs;
    inputs[kOutScale] = g_.node(n).inputs[1], inputs[kOutZero] = g_.node(n).inputs[2];
    const TensorSpec outputs[] = {g_.spec(y), g_.spec(q)};
    const NodeId both = r_.insert_before(n, "_conv2d_int8_both", std::move(inputs), Attrs(made->attrs), outputs);
    g_.node(both).origin = g_.node(c).origin;
    r_.replace(y, g_.node(both).outputs[0]);
    r_.replace(q, g_.node(both).outputs[1]);
    r_.erase(n);
    r_.erase(c);
    return true;
  }

  Graph& g_;
  std::vector<bool> steady_;
  Rewriter r_;
  Int8Layers layers_;
  std::vector<NodeId> sources_;  // dequantisations that may have no reader any more
  bool changed_ = false;
};

bool fuse_int8_convolutions(Graph& graph, const PassOptions& options) { return options.frozen && Fusion(graph).run(); }

const RegisterPass pass({"fuse_int8_convolutions", Stage::Fuse,
                         "takes a sum, relu or clamp, and quantisation into a convolution of bytes",
                         &fuse_int8_convolutions});

}  // namespace

}  // namespace hw
