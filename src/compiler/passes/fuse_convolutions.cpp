// fuse_convolutions: what follows a packed convolution (the sum with another image, an activation) becomes a part of it.
#include <cmath>

#include "compiler/pass.h"
#include "compiler/passes/value_range.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"

namespace hw {

namespace {

/// Inputs 2 and 3 of both ops are bias and residual. The sum with the residual is one of three (with the bias) in an order of the
/// kernel's own.
class Fusion {
 public:
  explicit Fusion(Graph& graph) : g_(graph), r_(graph) {}

  bool run() {
    for (NodeId n = r_.first(); n != kNone;) {
      const NodeId at = n;
      n = r_.next(n);
      changed_ |= g_.node(at).op == "add" ? sum(at) : activation(at);
    }
    return changed_;
  }

 private:
  static constexpr size_t kResidual = 3;

  /// The convolution that makes a value which only its one reader sees.
  NodeId convolution(ValueId v) const {
    const NodeId n = r_.made_for_one(v);
    return n != kNone && (g_.node(n).op == "_conv2d_packed" || g_.node(n).op == "_conv2d_winograd") ? n : kNone;
  }

  bool bare(const Node& n) const {
    return n.op == "_conv2d_packed" ? n.attrs[3].text() == "none"
                                    : std::isinf(n.attrs[3].f64()) && std::isinf(n.attrs[4].f64());
  }

  bool sum(NodeId n) {
    const Node node = g_.node(n);
    if (node.attrs[0].scalar().f64() != 1 || node.inputs[0] == node.inputs[1]) return false;
    for (size_t side : {1, 0}) {  // the one that is made later, so that the other is there
      const ValueId y = node.inputs[side], other = node.inputs[1 - side];
      const NodeId c = convolution(y);
      if (c == kNone || !same_spec(g_.spec(y), g_.spec(other)) || !same_spec(g_.spec(y), g_.spec(node.outputs[0])) ||
          !g_.spec(other).contiguous())
        continue;
      const Node& made = g_.node(c);
      if (!bare(made) || made.inputs[kResidual] != kNone) continue;
      std::vector<ValueId> inputs = made.inputs;
      inputs[kResidual] = other;
      r_.take_over(n, c, std::move(inputs), made.attrs);
      return true;
    }
    return false;
  }

  bool activation(NodeId n) {
    const Node node = g_.node(n);
    if (node.inputs.empty() || node.outputs.size() != 1) return false;
    const NodeId c = convolution(node.inputs[0]);
    if (c == kNone || !same_spec(g_.spec(node.inputs[0]), g_.spec(node.outputs[0])) || !bare(g_.node(c))) return false;
    const Node& made = g_.node(c);
    Attrs attrs = made.attrs;
    double low, high;
    const bool ranged = limits_range(g_, node, low, high);
    if (made.op == "_conv2d_winograd") {
      if (!ranged) return false;
      attrs[3] = low, attrs[4] = high;
    } else if (ranged) {
      attrs[3] = node.op == "relu" ? "relu" : "clamp";
      if (node.op != "relu") attrs[4] = low, attrs[5] = high;
    } else if (node.op == "sigmoid" || node.op == "silu" || node.op == "hardswish") {
      attrs[3] = node.op;
    } else {
      return false;
    }
    r_.take_over(n, c, made.inputs, std::move(attrs));
    return true;
  }

  Graph& g_;
  Rewriter r_;
  bool changed_ = false;
};

bool fuse_convolutions(Graph& graph, const PassOptions&) { return Fusion(graph).run(); }

const RegisterPass pass({"fuse_convolutions", Stage::Fuse,
                         "takes the sum with another image and an activation into a packed convolution",
                         &fuse_convolutions});

}  // namespace

}  // namespace hw
