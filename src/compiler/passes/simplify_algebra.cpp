// simplify_algebra: calls that change nothing, or that a cheaper call replaces with the same bits.
#include <cmath>

#include "base/error.h"
#include "compiler/check_graph.h"
#include "compiler/evaluate.h"
#include "compiler/pass.h"
#include "compiler/roots.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "op/rules.h"

namespace hw {

namespace {

/// Whether every value of `from` is a value of `to`.
bool holds(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  if (is_complex(from) || is_complex(to) || to == DType::Bool) return false;
  if (is_floating(from)) return is_reduced(from) ? to == DType::F32 || to == DType::F64 : to == DType::F64;
  const int64_t bits = 8 * dtype_size(from), room = 8 * dtype_size(to);
  if (is_integral(to)) return to == DType::U8 ? false : room > bits;
  return to == DType::F64 ? bits <= 32 : to == DType::F32 ? bits <= 16 : to == DType::F16 && bits <= 8;
}

class Algebra {
 public:
  explicit Algebra(Graph& graph) : g_(graph), roots_(graph), r_(graph) {}

  bool run() {
    for (NodeId n = r_.first(); n != kNone;) {
      const NodeId at = n;
      n = r_.next(n);
      simplify(at);
    }
    return changed_;
  }

 private:
  void simplify(NodeId n) {
    const OpDef* op = find_op(g_.node(n).op);
    if (!op || g_.node(n).outputs.size() != 1 || !g_.node(n).bindings.empty()) return;
    if (op->kind() == OpKind::View) {
      roots_.place(g_, g_.node(n));
      if (!undo_views(n)) join_views(n);
      return;
    }
    const ValueId y = g_.node(n).outputs[0], same = identity(g_.node(n));
    if (same != kNone) {
      if (same_spec(g_.spec(same), g_.spec(y)) && roots_.may_replace(g_, y, same)) take(n, same);
      return;
    }
    const std::string& name = op->name();
    if (name == "cast") join_casts(n);
    if (name == "add" || name == "sub") absorb_negative(n);
    if (name == "div") multiply_instead(n);
    if (name == "sum" || name == "prod" || name == "amax" || name == "amin") view_instead(n);
  }

  void take(NodeId n, ValueId instead) {
    roots_.replaced(g_.node(n).outputs[0], instead);
    r_.replace(g_.node(n).outputs[0], instead);
    r_.erase(n);
    changed_ = true;
  }

  bool is_number(ValueId v, double value, bool negative_zero = false) const {
    Scalar s;
    if (v == kNone || !constant_scalar(g_, v, s) || s.kind() == Scalar::Kind::Complex || s.f64() != value) return false;
    return value != 0 || std::signbit(s.f64()) == negative_zero || !is_inexact(g_.spec(v).dtype);
  }

  /// Whether two inputs are combined as they are: x + alpha y with alpha = 1.
  static bool plain_alpha(const Node& node) {
    return node.attrs[0].scalar().f64() == 1 && node.attrs[0].scalar().c128().imag() == 0;
  }

  /// The input whose values the output has, if there is one. Its spec is compared by the caller.
  ValueId identity(const Node& node) const {
    const std::string& op = node.op;
    if (op == "clone" || op == "contiguous" || op == "positive" || op == "reshape" || op == "cast") {
      return op == "cast" && g_.spec(node.inputs[0]).dtype != g_.spec(node.outputs[0]).dtype ? kNone : node.inputs[0];
    }
    if (op == "neg") {
      const Node* before = r_.made_by(node.inputs[0], "neg");
      return before ? before->inputs[0] : kNone;
    }
    const DType d = g_.spec(node.outputs[0]).dtype;
    if (is_complex(d)) return kNone;  // inf * (1 + 0j) is not inf
    if (op == "mul")
      return is_number(node.inputs[1], 1) ? node.inputs[0] : is_number(node.inputs[0], 1) ? node.inputs[1] : kNone;
    if (op == "div")
      return (node.attrs[0].none() || !is_floating(d)) && is_number(node.inputs[1], 1) ? node.inputs[0] : kNone;
    if (op == "sub") return plain_alpha(node) && is_number(node.inputs[1], 0) ? node.inputs[0] : kNone;
    if (op != "add" || !plain_alpha(node)) return kNone;
    // -0 + 0 is 0: of the zeros, only -0 changes nothing.
    const bool negative = is_floating(d);
    if (is_zero_to_add(node.inputs[1], negative)) return node.inputs[0];
    return is_zero_to_add(node.inputs[0], negative) ? node.inputs[1] : kNone;
  }

  bool is_zero_to_add(ValueId v, bool negative) const {
    return is_number(v, 0, negative) && (!negative || is_floating(g_.spec(v).dtype));
  }

  /// A view that sees its memory as an earlier value of the chain does.
  bool undo_views(NodeId n) {
    const ValueId y = g_.node(n).outputs[0];
    const Location& at = roots_.location(y);
    if (!at.known) return false;
    for (ValueId v = g_.node(n).inputs[0]; v != kNone;) {
      const Location& other = roots_.location(v);
      if (other.known && other.offset == at.offset && same_spec(g_.spec(v), g_.spec(y))) {
        take(n, v);
        return true;
      }
      const Node* p = g_.producer(v);
      const OpDef* op = p ? find_op(p->op) : nullptr;
      v = op && op->kind() == OpKind::View ? p->inputs[0] : kNone;
    }
    return false;
  }

  /// Two views of a kind in a row as one: permute (transpose counts), view, expand.
  void join_views(NodeId n) {
    const Node& outer = g_.node(n);
    const Node* inner = g_.producer(outer.inputs[0]);
    if (!inner) return;
    const ValueId x = inner->inputs.empty() ? kNone : inner->inputs[0];
    Dims a, b;
    if (axis_order(*inner, a) && axis_order(outer, b)) {
      for (int64_t& axis : b) axis = a[static_cast<size_t>(axis)];
      replace_call(n, "permute", {x}, {b});
      return;
    }
    if (inner->op != outer.op || (outer.op != "view" && outer.op != "expand")) return;
    Attrs attrs = outer.attrs;
    attrs[0] = g_.spec(outer.outputs[0]).shape;
    replace_call(n, outer.op, {x}, std::move(attrs));
  }

  bool axis_order(const Node& node, Dims& order) const {
    const int64_t ndim = g_.spec(node.outputs[0]).ndim();
    if (node.op == "permute") {
      for (int64_t axis : node.attrs[0].ints()) order.push_back(normalize_axis(axis, ndim));
      return true;
    }
    if (node.op != "transpose" || ndim == 0) return false;
    for (int64_t axis = 0; axis < ndim; ++axis) order.push_back(axis);
    std::swap(order[static_cast<size_t>(normalize_axis(node.attrs[0].i64(), ndim))],
              order[static_cast<size_t>(normalize_axis(node.attrs[1].i64(), ndim))]);
    return true;
  }

  /// Another call instead of node n, if it gives the same spec.
  bool replace_call(NodeId n, std::string op, std::vector<ValueId> inputs, Attrs attrs) {
    const TensorSpec& want = g_.spec(g_.node(n).outputs[0]);
    Node trial{op, inputs, {}, attrs, {}, 0, {}};
    try {
      if (!same_spec(inferred_outputs(g_, trial).at(0), want)) return false;
    } catch (const Error&) {  // a view that strides do not allow
      return false;
    }
    const ValueId instead = r_.add(n, std::move(op), std::move(inputs), std::move(attrs), TensorSpec(want));
    roots_.place(g_, *g_.producer(instead));
    take(n, instead);
    return true;
  }

  /// cast(cast(x, a), b) is cast(x, b) where a holds every value of x.
  void join_casts(NodeId n) {
    const Node* inner = r_.made_by(g_.node(n).inputs[0], "cast");
    if (!inner) return;
    const ValueId x = inner->inputs[0], y = g_.node(n).outputs[0];
    const DType from = g_.spec(x).dtype, middle = g_.spec(inner->outputs[0]).dtype, to = g_.spec(y).dtype;
    // Kernels may differ in what they make of a float beyond an integer's range, and round to 16 bits by way of f32.
    const bool same_rounding = is_floating(from) ? is_floating(to) : !is_reduced(to) || holds(from, DType::F32);
    if (is_floating(middle) && is_integral(to) && !holds(from, to)) return;
    if (!holds(from, middle) || !same_rounding || is_complex(to)) return;
    if (from == to && same_spec(g_.spec(x), g_.spec(y)) && roots_.may_replace(g_, y, x)) return take(n, x);
    replace_call(n, "cast", {x}, {to});
  }

  /// a + (-b) = a - b, (-a) + b = b - a, a - (-b) = a + b.
  void absorb_negative(NodeId n) {
    const Node& node = g_.node(n);
    if (!plain_alpha(node)) return;
    const bool adds = node.op == "add";
    for (const size_t at : {1, 0}) {
      const Node* negative = r_.made_by(node.inputs[at], "neg");
      if (!negative || (at == 0 && !adds)) continue;
      const ValueId positive = negative->inputs[0];
      if (g_.spec(positive).dtype != g_.spec(node.inputs[at]).dtype) continue;
      replace_call(n, adds ? "sub" : "add", {node.inputs[1 - at], positive}, node.attrs);
      return;
    }
  }

  /// x / c = x * (1 / c) for powers of two whose inverse is a normal number of the dtype.
  void multiply_instead(NodeId n) {
    const Node& node = g_.node(n);
    Scalar c;
    const ValueId x = node.inputs[0], by = node.inputs[1];
    const DType d = g_.spec(node.outputs[0]).dtype;
    if (!node.attrs[0].none() || !constant_scalar(g_, by, c) || !is_floating(d) || g_.spec(x).dtype != d) return;
    TensorSpec spec = g_.spec(by);
    if (spec.dtype == DType::I64 && spec.wrapped) spec.dtype = DType::F64;  // a Python number gives way as either
    if (!spec.shape.empty() || !is_floating(spec.dtype)) return;
    int exponent = 0;
    const int most = d == DType::F16 ? 12 : 100;
    if (std::fabs(std::frexp(c.f64(), &exponent)) != 0.5 || std::abs(exponent) > most || exponent == 1) return;
    Tensor inverse = Tensor::scalar(Scalar(1 / c.f64()), spec.dtype, spec.wrapped);
    replace_call(n, "mul", {x, r_.add_source(GraphSource::Kind::Constant, spec, "", inverse)}, {});
  }

  /// A reduction over axes of size 1 looks at the same elements. Floating sums start from 0, which makes 0 of -0.
  void view_instead(NodeId n) {
    const Node& node = g_.node(n);
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const bool picks = node.op == "amax" || node.op == "amin";
    const TensorSpec &from = g_.spec(x), &to = g_.spec(y);
    if (from.dtype != to.dtype || from.numel() != to.numel() || from.numel() == 0 || from.shape.empty()) return;
    if (!picks && !is_integral(from.dtype)) return;
    if (is_complex(from.dtype) || !roots_.may_replace(g_, y, x)) return;
    replace_call(n, "view", {x}, {to.shape});
  }

  Graph& g_;
  Roots roots_;
  Rewriter r_;
  bool changed_ = false;
};

bool simplify_algebra(Graph& graph, const PassOptions&) { return Algebra(graph).run(); }

const RegisterPass pass({"simplify_algebra", Stage::Simplify,
                         "drops calls that change nothing, takes cheaper ones with the same bits", &simplify_algebra});

}  // namespace

}  // namespace hw
