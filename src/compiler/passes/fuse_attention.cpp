// fuse_attention: attention written with two products and a softmax keeps no matrix of scores.
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "compiler/add_call.h"
#include "compiler/check_graph.h"
#include "compiler/evaluate.h"
#include "compiler/pass.h"
#include "compiler/restride.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "op/op_def.h"

namespace hw {

namespace {

/// softmax(q k^T * scale + mask) v, or with a mask that hides scores by -inf, where nothing else reads the scores or the
/// probabilities, becomes _attention. Sums are taken block by block of columns, which rounds differently.
class Attention {
 public:
  explicit Attention(Graph& graph) : g_(graph), r_(graph) {}

  bool run() {
    bool changed = false;
    for (NodeId n : find_nodes(g_, "softmax"))
      if (const std::optional<Found> found = match(n)) {
        fuse(*found);
        changed = true;
      }
    return changed;
  }

 private:
  struct Found {
    ValueId q = kNone, kt = kNone,
            v = kNone;  // [batch * heads, rows, width], [.., width, columns], [.., columns, width]
    ValueId mask = kNone;
    bool hides = false;  // the mask says what is hidden, not what is seen
    double scale = 1;
    Dims scores;          // [batch, heads, rows, columns], or [batch, rows, columns]
    NodeId last = kNone;  // the product by v
  };

  const Node* only(ValueId v, std::string_view op) const { return r_.used_once(v) ? r_.made_by(v, op) : nullptr; }
  bool number(ValueId v, double& value) const {
    Scalar s;
    if (v == kNone || !constant_scalar(g_, v, s) || s.kind() == Scalar::Kind::Complex) return false;
    value = s.f64();
    return true;
  }

  /// Past a mask: the value that it is laid over.
  ValueId unmask(ValueId v, Found& found) const {
    double hidden = 0;
    if (const Node* n = only(v, "where")) {
      const bool second = number(n->inputs[2], hidden);
      if ((!second && !number(n->inputs[1], hidden)) || !std::isinf(hidden) || hidden > 0) return v;
      found.mask = n->inputs[0], found.hides = !second;
      return n->inputs[second ? 1 : 2];
    }
    const Node* n = only(v, "add");
    if (!n || n->attrs[0].scalar().f64() != 1) return v;
    for (size_t side : {0, 1}) {
      const ValueId x = n->inputs[side], mask = n->inputs[1 - side];
      if (g_.spec(x).shape != g_.spec(v).shape || g_.spec(mask).dtype != g_.spec(v).dtype || !r_.used_once(x)) continue;
      if (!is_scores(x)) continue;
      found.mask = mask;
      return x;
    }
    return v;
  }

  ValueId unscale(ValueId v, Found& found) const {
    double factor = 0;
    if (const Node* n = only(v, "mul"))
      for (size_t side : {0, 1})
        if (number(n->inputs[side], factor)) {
          found.scale = factor;
          return n->inputs[1 - side];
        }
    if (const Node* n = only(v, "div"); n && n->attrs[0].none() && number(n->inputs[1], factor)) {
      found.scale = 1 / factor;
      return n->inputs[0];
    }
    return v;
  }

  bool is_scores(ValueId v) const {
    Found ignored;
    return product(unscale(v, ignored)) != nullptr;
  }

  /// The product that makes v, maybe seen with more axes.
  const Node* product(ValueId v) const {
    if (const Node* view = only(v, "view")) v = view->inputs[0];
    return only(v, "bmm");
  }

  std::optional<Found> match(NodeId n) const {
    const Node& softmax = g_.node(n);
    const TensorSpec& p = g_.spec(softmax.outputs[0]);
    const int64_t dim = softmax.attrs[0].i64(), ndim = p.ndim();
    Found found;
    if ((ndim != 3 && ndim != 4) || (dim != -1 && dim != ndim - 1) || !is_floating(p.dtype) || p.numel() == 0 ||
        g_.spec(softmax.inputs[0]).dtype != p.dtype)
      return std::nullopt;
    found.scores = p.shape;
    const ValueId scores = unscale(unmask(softmax.inputs[0], found), found);
    const Node* qk = product(scores);
    if (!qk || g_.spec(scores).shape != p.shape || g_.spec(scores).dtype != p.dtype) return std::nullopt;
    found.q = qk->inputs[0], found.kt = qk->inputs[1];
    if (!by_values(softmax.outputs[0], found)) return std::nullopt;
    return found;
  }

  /// The product of the probabilities by v.
  bool by_values(ValueId p, Found& found) const {
    if (!r_.used_once(p)) return false;
    Use use = r_.uses(p)[0];
    if (use.node != kNone && g_.node(use.node).op == "view") {
      p = g_.node(use.node).outputs[0];
      if (!r_.used_once(p)) return false;
      use = r_.uses(p)[0];
    }
    if (use.node == kNone || use.slot != 0 || g_.node(use.node).op != "bmm") return false;
    const Dims &flat = g_.spec(p).shape, &scores = found.scores;
    if (flat[1] != scores[scores.size() - 2] || flat[2] != scores.back()) return false;
    found.last = use.node, found.v = g_.node(use.node).inputs[1];
    return g_.spec(found.v).dtype == g_.spec(p).dtype;
  }

  ValueId as_four(NodeId at, ValueId v, const Dims& scores) {
    const Dims& s = g_.spec(v).shape;
    return add_call(r_, at, "view", {v}, {Dims{scores[0], scores[1], s[1], s[2]}});
  }

  ValueId mask_of(NodeId at, const Found& found, const Dims& scores) {
    if (found.mask == kNone) return kNone;
    ValueId mask = found.mask;
    if (found.hides) mask = add_call(r_, at, "logical_not", {mask}, {});
    if (g_.spec(mask).shape != found.scores) mask = add_call(r_, at, "expand", {mask}, {found.scores, false});
    return found.scores.size() == 4 ? mask : add_call(r_, at, "view", {mask}, {scores});
  }

  void fuse(const Found& found) {
    const NodeId at = found.last;
    Dims scores = found.scores;
    if (scores.size() == 3) scores = {scores[0], 1, scores[1], scores[2]};
    const ValueId q = as_four(at, found.q, scores), v = as_four(at, found.v, scores);
    const ValueId k = add_call(r_, at, "transpose", {as_four(at, found.kt, scores)}, {int64_t{2}, int64_t{3}});
    const ValueId mask = mask_of(at, found, scores);
    Node node{"_attention", {q, k, v, mask}, {}, {false, found.scale, mask != kNone}, {}, 0, {}};
    const std::vector<TensorSpec> specs = inferred_outputs(g_, node);
    const NodeId made = r_.insert_before(at, node.op, node.inputs, node.attrs, specs);
    const ValueId old = g_.node(at).outputs[0];
    replace(at, old, g_.node(made).outputs[0]);
    r_.erase_if_unused(at);
  }

  /// `old` by what attention made, in whatever order that lies in memory if its readers can take it so.
  void replace(NodeId at, ValueId old, ValueId made) {
    const Dims shape = g_.spec(old).shape;
    std::map<ValueId, TensorSpec> changes;
    if (!g_.spec(made).contiguous()) {
      Graph trial;
      const ValueId x = trial.add_source(GraphSource::Kind::Input, g_.spec(made), "x");
      std::optional<TensorSpec> seen;
      try {
        seen = inferred_outputs(trial, Node{"view", {x}, {}, {shape}, {}, 0, {}}).at(0);
      } catch (const Error&) {  // batch and heads cannot be one axis
      }
      if (seen && restride(r_, g_, old, *seen, changes))
        apply_specs(g_, changes);
      else
        made = add_call(r_, at, "clone", {made}, {});
    }
    const ValueId view = add_call(r_, at, "view", {made}, {shape});
    r_.replace(old, view);
  }

  Graph& g_;
  Rewriter r_;
};

bool fuse_attention(Graph& graph, const PassOptions&) { return Attention(graph).run(); }

const RegisterPass pass({"fuse_attention", Stage::Fuse, "products around a softmax as attention, without the scores",
                         &fuse_attention});

}  // namespace

}  // namespace hw
