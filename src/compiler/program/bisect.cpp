// Evaluating a graph after each pass, and comparing.
#include "compiler/program/bisect.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/error.h"
#include "compiler/check_graph.h"
#include "compiler/program/once.h"
#include "ir/elements.h"
#include "ir/same_graph.h"
#include "ir/text.h"
#include "op/vocabulary.h"

namespace hw {

static BisectStage evaluated(std::string name, const Graph& graph, std::span<const Tensor> tensors,
                             const EvaluateRun& run) {
  BisectStage s{std::move(name), graph, evaluate_values(graph, tensors, run), {}};
  for (const GraphResult& r : graph.results) s.results.push_back(s.values[static_cast<size_t>(r.value)]);
  return s;
}

/// As a program does it: what depends on state alone is computed first, and is state of the rest.
static std::vector<Tensor> planned(Graph graph, std::span<const Tensor> tensors, const EvaluateRun& run) {
  std::vector<Tensor> all(tensors.begin(), tensors.end());
  std::vector<int32_t> given(graph.sources.size(), kNone);
  int32_t count = 0;
  for (size_t i = 0; i < given.size(); ++i)
    if (graph.sources[i].kind != GraphSource::Kind::Constant) given[i] = count++;
  if (const std::optional<OnceGraph> once = take_once(graph)) {
    std::vector<Tensor> inside;
    for (int32_t s : once->sources) inside.push_back(tensors[static_cast<size_t>(given[static_cast<size_t>(s)])]);
    for (Tensor& t : run_as_plan(once->body, inside, run)) all.push_back(std::move(t));
  }
  return run_as_plan(graph, all, run);
}

void bisect_stages(const Graph& graph, std::span<const Tensor> tensors, const EvaluateRun& run,
                   const std::vector<Pass>& passes, const PassOptions& options,
                   FunctionRef<bool(BisectStage&&)> visit) {
  if (!visit(evaluated("capture", graph, tensors, run))) return;
  Graph now = graph;
  for (const Pass& p : passes) {
    if (!p.run(now, options)) continue;
    if (std::string problem = specs_problem(now); !problem.empty()) bug("after pass ", p.name, ": ", problem);
    if (!visit(evaluated(std::string(p.name), now, tensors, run))) return;
  }
  EvaluateRun as_planned = run;
  as_planned.lowered_regions = true;
  if (!visit(evaluated("kernels", now, tensors, as_planned))) return;
  visit({"plan", now, {}, planned(now, tensors, run)});
}

double relative_difference(const Tensor& a, const Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return kInfinity;
  if (same_elements(a, b)) return 0;
  std::vector<std::complex<double>> left;
  const auto number = [&](const void* p) { return load_scalar(p, a.dtype()).c128(); };
  for_each_element(a, [&](const void* p) { left.push_back(number(p)); });
  double most = 0, largest = 0;
  size_t i = 0;
  for_each_element(b, [&](const void* p) {
    const std::complex<double> x = left[i++], y = number(p);
    const bool finite = std::isfinite(x.real()) && std::isfinite(x.imag());
    if (finite) largest = std::max(largest, std::abs(x));
    const auto same = [](double u, double v) { return u == v || (u != u && v != v); };
    if (same(x.real(), y.real()) && same(x.imag(), y.imag())) return;
    const double d = std::abs(x - y);
    most = std::isfinite(d) ? std::max(most, d) : kInfinity;
  });
  return most == 0 ? 0 : largest > 0 ? most / largest : kInfinity;
}

namespace {

class Finder {
 public:
  Finder(const BisectStage& before, const BisectStage& after, double tolerance)
      : before_(before), after_(after), tolerance_(tolerance) {}

  Divergence run() {
    double worst = 0;
    ValueId wrong = kNone;
    for (size_t i = 0; i < before_.results.size(); ++i) {
      const double d = relative_difference(before_.results[i], after_.results[i]);
      if (d <= tolerance_ || d <= worst) continue;
      worst = d;
      wrong = after_.graph.results[i].value;
    }
    // A value that both graphs have is the same thing in both: nodes keep their numbers, and what takes the place of a value is new.
    for (NodeId n : after_.values.empty() ? std::vector<NodeId>{} : after_.graph.order)
      for (ValueId v : after_.graph.node(n).outputs)
        if (const double d = difference(v); d > tolerance_) return named(n, d);
    if (wrong == kNone) return {};
    for (NodeId n : after_.values.empty() ? std::vector<NodeId>{} : after_.graph.order)
      if (is_new(n))
        if (const double d = replaced_difference(n); d > tolerance_) return named(n, d);
    return named(changed_above(wrong), worst);
  }

 private:
  double difference(ValueId v) const {
    const auto i = static_cast<size_t>(v);
    if (i >= before_.values.size() || !before_.values[i].defined() || !after_.values[i].defined()) return 0;
    if (!(before_.graph.spec(v).shape == after_.graph.spec(v).shape)) return 0;
    return relative_difference(before_.values[i], after_.values[i]);
  }

  bool is_new(NodeId n) const {
    if (static_cast<size_t>(n) >= before_.graph.nodes.size()) return true;
    const Node &a = before_.graph.node(n), &b = after_.graph.node(n);
    return a.op != b.op || a.inputs != b.inputs || a.bodies != b.bodies || !same_attrs(a.attrs, b.attrs);
  }

  /// Of a new node, from what the same line made in that shape before and does not make any more: the least, 0 if there is nothing.
  double replaced_difference(NodeId n) const {
    const Graph &a = before_.graph, &b = after_.graph;
    const Node& made = b.node(n);
    double least = -1;
    for (NodeId o : a.order) {
      const Node& old = a.node(o);
      if (std::find(b.order.begin(), b.order.end(), o) != b.order.end()) continue;
      if (a.origins[static_cast<size_t>(old.origin)] != b.origins[static_cast<size_t>(made.origin)]) continue;
      const Tensor &x = before_.values[static_cast<size_t>(old.outputs[0])],
                   &y = after_.values[static_cast<size_t>(made.outputs[0])];
      if (!x.defined() || !y.defined() || x.shape() != y.shape() || x.dtype() != y.dtype()) continue;
      const double d = relative_difference(x, y);
      least = least < 0 ? d : std::min(least, d);
    }
    return std::max(least, 0.0);
  }

  /// The first node on the way to a value that the pass made or changed; what makes the value if there is none.
  NodeId changed_above(ValueId v) const {
    const Graph& g = after_.graph;
    std::vector<bool> needed(g.values.size());
    needed[static_cast<size_t>(v)] = true;
    NodeId found = kNone;
    for (size_t i = g.order.size(); i-- > 0;) {
      const Node& n = g.node(g.order[i]);
      if (std::none_of(n.outputs.begin(), n.outputs.end(), [&](ValueId o) { return needed[static_cast<size_t>(o)]; }))
        continue;
      for (ValueId in : n.inputs)
        if (in != kNone) needed[static_cast<size_t>(in)] = true;
      if (is_new(g.order[i])) found = g.order[i];
    }
    return found != kNone ? found : g.values[static_cast<size_t>(v)].producer;
  }

  Divergence named(NodeId n, double difference) const {
    Divergence d{after_.name, n, {}, {}, difference};
    if (n == kNone) return d;
    d.text = node_text(after_.graph, n, op_vocabulary());
    d.origin = after_.graph.origins[static_cast<size_t>(after_.graph.node(n).origin)];
    return d;
  }

  const BisectStage &before_, &after_;
  double tolerance_;
};

}  // namespace

void DivergenceFinder::look(BisectStage&& stage) {
  if (before_ && found_.pass.empty()) found_ = Finder(*before_, stage, tolerance_).run();
  before_ = std::move(stage);
}

}  // namespace hw
