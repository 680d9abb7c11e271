// What must hold of every graph.
#include "ir/verify.h"

#include "base/error.h"

namespace hw {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : g_(graph), defined_(graph.values.size(), false) {}

  std::string problem() {
    for (size_t v = 0; v < g_.values.size() && why_.empty(); ++v) value(v);
    for (size_t s = 0; s < g_.sources.size() && why_.empty(); ++s) source(s);
    placed_.resize(g_.nodes.size(), false);
    for (size_t i = 0; i < g_.order.size() && why_.empty(); ++i) node(g_.order[i]);
    for (size_t r = 0; r < g_.results.size() && why_.empty(); ++r) result(r);
    return std::move(why_);
  }

 private:
  template <class... Args>
  bool want(bool ok, const Args&... words) {
    if (!ok && why_.empty()) why_ = text(words...);
    return ok;
  }
  bool is_value(ValueId v) const { return v >= 0 && static_cast<size_t>(v) < g_.values.size(); }
  bool is_source(int32_t s) const { return s >= 0 && static_cast<size_t>(s) < g_.sources.size(); }

  void value(size_t v) {
    const GraphValue& value = g_.values[v];
    want(value.spec.strides.size() == value.spec.shape.size(), "value %", v, " has no strides");
    want(value.spec.given(), "value %", v, " has no dtype");
    for (int64_t n : value.spec.shape) want(n >= 0, "value %", v, " has a negative size");
  }

  void source(size_t s) {
    const GraphSource& source = g_.sources[s];
    if (!want(is_value(source.value), "source ", s, " has no value")) return;
    const GraphValue& value = g_.values[static_cast<size_t>(source.value)];
    want(value.producer == kNone && value.slot == static_cast<int32_t>(s), "source ", s, ", ", source.name,
         ": its value %", source.value, " says that something else makes it");
    defined_[static_cast<size_t>(source.value)] = true;
    if (source.kind != GraphSource::Kind::Constant) return;
    const Tensor& t = source.tensor;
    if (!want(t.defined(), "the constant %", source.value, " has no data")) return;
    want(t.dtype() == value.spec.dtype && t.shape() == value.spec.shape && t.strides() == value.spec.strides,
         "the constant %", source.value, " is ", value.spec, ", its data ", t);
  }

  void node(NodeId n) {
    if (!want(n >= 0 && static_cast<size_t>(n) < g_.nodes.size(), "the order names node ", n, ", which there is not"))
      return;
    const Node& node = g_.node(n);
    want(!placed_[static_cast<size_t>(n)], "node ", n, ", ", node.op, ", is twice in the order");
    placed_[static_cast<size_t>(n)] = true;
    want(!node.op.empty() && !node.outputs.empty(), "node ", n, ", ", node.op, ", has no name or no outputs");
    want(node.origin >= 0 && static_cast<size_t>(node.origin) < g_.origins.size(), "node ", n, ": origin ",
         node.origin);
    for (ValueId v : node.inputs) {
      if (v == kNone || !want(is_value(v), "node ", n, ", ", node.op, ", reads value ", v, ", which there is not"))
        continue;
      want(defined_[static_cast<size_t>(v)], "node ", n, ", ", node.op, ", reads %", v, " before it is made");
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) output(n, node, i);
    for (const AttrBinding& b : node.bindings) binding(n, node, b);
    for (size_t i = 0; i < node.bodies.size() && why_.empty(); ++i) {
      if (!want(node.bodies[i] != nullptr, "node ", n, ", ", node.op, ": body ", i, " is not there")) return;
      std::string problem = graph_problem(*node.bodies[i]);
      want(problem.empty(), "node ", n, ", ", node.op, ", body ", i, ": ", problem);
    }
  }

  void output(NodeId n, const Node& node, size_t i) {
    const ValueId v = node.outputs[i];
    if (!want(is_value(v), "node ", n, ", ", node.op, ": output ", i, " is no value")) return;
    const GraphValue& value = g_.values[static_cast<size_t>(v)];
    want(value.producer == n && value.slot == static_cast<int32_t>(i), "node ", n, ", ", node.op, ": output ", i, ", %",
         v, ", says that something else makes it");
    want(!defined_[static_cast<size_t>(v)], "%", v, " is made twice");
    defined_[static_cast<size_t>(v)] = true;
  }

  void binding(NodeId n, const Node& node, const AttrBinding& b) {
    want(b.attr >= 0 && static_cast<size_t>(b.attr) < node.attrs.size(), "node ", n, ", ", node.op,
         ": a binding names attribute ", b.attr);
    const int32_t limit = b.kind == AttrBinding::Kind::Seed   ? 1
                          : b.kind == AttrBinding::Kind::Draw ? g_.num_draws
                                                              : g_.num_host;
    want(b.index >= 0 && b.index < limit, "node ", n, ", ", node.op, ": a binding has number ", b.index, " of ", limit);
    for (const AttrBinding& other : node.bindings)
      want(&other == &b || other.attr != b.attr, "node ", n, ", ", node.op, ": attribute ", b.attr, " is bound twice");
  }

  void result(size_t i) {
    const GraphResult& r = g_.results[i];
    want(is_value(r.value) && defined_[static_cast<size_t>(r.value)], "result ", i, " is %", r.value,
         ", which is not made");
    if (r.kind == GraphResult::Kind::Output) {
      want(r.source >= kNone, "output ", i, " has memory ", r.source);
      return;
    }
    if (!want(is_source(r.source), "result ", i, " names source ", r.source, ", which there is not")) return;
    const GraphSource& source = g_.sources[static_cast<size_t>(r.source)];
    want(source.kind != GraphSource::Kind::Constant, "result ", i, " changes the constant ", source.name);
    if (is_value(r.value) &&
        r.kind == GraphResult::Kind::Update)  // a gradient may be split over ranks where its leaf is not
      want(g_.spec(r.value).shape == g_.spec(source.value).shape, "result ", i, ", of shape ", g_.spec(r.value).shape,
           ", is for ", source.name, " of shape ", g_.spec(source.value).shape);
    for (size_t j = 0; j < i; ++j)
      want(g_.results[j].kind != r.kind || g_.results[j].source != r.source, "results ", j, " and ", i,
           " are for the same source ", source.name);
  }

  const Graph& g_;
  std::vector<bool> defined_, placed_;
  std::string why_;
};

}  // namespace

std::string graph_problem(const Graph& graph) { return Verifier(graph).problem(); }

void verify_graph(const Graph& graph, std::string_view after) {
  if (std::string problem = graph_problem(graph); !problem.empty())
    bug("graph ", graph.name, " after ", after, ": ", problem);
}

}  // namespace hw
