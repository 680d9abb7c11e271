// run_once: what depends on state alone is computed again only when the state changes, when frozen.
#include <algorithm>

#include "compiler/pass.h"
#include "compiler/steady.h"
#include "ir/rewrite.h"
#include "op/op_def.h"

namespace hw {

namespace {

/// Steady: computed from state and constants. The graph's uses of steady values are looked at from the end: the last
/// steady kernel before a use goes into the body, with all that it needs; views of its result stay where they are read.
class Separation {
 public:
  explicit Separation(Graph& graph)
      : g_(graph), steady_(steady_values(graph)), basis_(graph.values.size(), 0), map_(graph.values.size(), kNone) {}

  bool run() {
    if (!gives_outputs_only(g_)) return false;
    find_basis();
    find_results();
    if (results_.empty()) return false;
    for (size_t i = results_.size(); i-- > 0;) import(results_[i]);
    place();
    return true;
  }

 private:
  /// Bytes of state that a value is made of.
  void find_basis() {
    for (const GraphSource& s : g_.sources)
      if (s.kind == GraphSource::Kind::State) basis_[static_cast<size_t>(s.value)] = bytes(s.value);
    for (NodeId n : g_.order) {
      if (!is_steady(g_.node(n))) continue;
      int64_t sum = 0;
      for (ValueId v : g_.node(n).inputs) sum += v == kNone ? 0 : basis_[static_cast<size_t>(v)];
      for (ValueId v : g_.node(n).outputs) basis_[static_cast<size_t>(v)] = sum;
    }
  }

  bool is_steady(const Node& n) const { return !n.outputs.empty() && steady_[static_cast<size_t>(n.outputs[0])]; }
  int64_t bytes(ValueId v) const { return g_.spec(v).numel() * dtype_size(g_.spec(v).dtype); }

  /// A kernel whose results are worth keeping: not much larger than what they are made of.
  bool keeps(const Node& n) const {
    const OpDef* op = find_op(n.op);
    if (!op || op->kind() != OpKind::Kernel || op->is_random() || n.op.starts_with("empty")) return false;
    int64_t size = 0;
    for (ValueId v : n.outputs) size += bytes(v);
    const int64_t basis = basis_[static_cast<size_t>(n.outputs[0])];
    // Packed for Winograd, weights grow fourfold, and are made in order to be kept.
    const int64_t times = n.op == "_winograd_pack_weight" ? 5 : 2;
    return basis > 0 && size <= std::max(times * basis, kSmall);
  }

  void find_results() {
    std::vector<bool> wanted(g_.values.size(), false);
    for (const GraphResult& r : g_.results) wanted[static_cast<size_t>(r.value)] = true;
    for (size_t i = g_.order.size(); i-- > 0;) {
      const Node& n = g_.node(g_.order[i]);
      const auto asked = [&](ValueId v) { return wanted[static_cast<size_t>(v)]; };
      if (is_steady(n)) {
        if (std::none_of(n.outputs.begin(), n.outputs.end(), asked)) continue;
        if (keeps(n)) {
          std::copy_if(n.outputs.begin(), n.outputs.end(), std::back_inserter(results_), asked);
          continue;
        }
      }
      for (ValueId v : n.inputs)
        if (v != kNone) wanted[static_cast<size_t>(v)] = true;
    }
  }

  /// The body's value for one of the graph. Without recursion: chains may be long.
  void import(ValueId wanted) {
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
      const ValueId v = open.back();
      if (map_[static_cast<size_t>(v)] != kNone) {
        open.pop_back();
        continue;
      }
      const NodeId id = g_.values[static_cast<size_t>(v)].producer;
      if (id == kNone) {
        add_source(v);
        continue;
      }
      bool ready = true;
      for (ValueId x : g_.node(id).inputs) {
        if (x == kNone || map_[static_cast<size_t>(x)] != kNone) continue;
        open.push_back(x);
        ready = false;
      }
      if (ready) copy(g_.node(id));
    }
  }

  /// State comes first, as the node's inputs; constants stand behind. Numbers of values may be in any order.
  void add_source(ValueId v) {
    const GraphSource& s = g_.sources[static_cast<size_t>(g_.source_of(v))];
    const bool state = s.kind == GraphSource::Kind::State;
    map_[static_cast<size_t>(v)] = static_cast<ValueId>(body_.values.size());
    body_.values.push_back({g_.spec(v), kNone, 0});
    (state ? states_ : constants_).push_back(v);
  }

  void copy(const Node& n) {
    std::vector<ValueId> inputs;
    for (ValueId v : n.inputs) inputs.push_back(v == kNone ? kNone : map_[static_cast<size_t>(v)]);
    std::vector<TensorSpec> specs;
    for (ValueId v : n.outputs) specs.push_back(g_.spec(v));
    const int32_t origin = body_.add_origin(g_.origins[static_cast<size_t>(n.origin)]);
    const NodeId made = body_.make_node(n.op, std::move(inputs), n.attrs, specs, origin);
    body_.order.push_back(made);
    body_.node(made).bodies = n.bodies;
    for (size_t i = 0; i < n.outputs.size(); ++i) map_[static_cast<size_t>(n.outputs[i])] = body_.node(made).outputs[i];
  }

  void close_body() {
    body_.name = "once";
    for (const std::vector<ValueId>* list : {&states_, &constants_})
      for (ValueId v : *list) {
        const GraphSource& s = g_.sources[static_cast<size_t>(g_.source_of(v))];
        const ValueId inside = map_[static_cast<size_t>(v)];
        const bool state = list == &states_;
        body_.values[static_cast<size_t>(inside)].slot = static_cast<int32_t>(body_.sources.size());
        body_.sources.push_back({state ? GraphSource::Kind::Input : GraphSource::Kind::Constant, inside, s.name,
                                 state ? Tensor() : s.tensor});
      }
    for (size_t i = results_.size(); i-- > 0;)
      body_.results.push_back({GraphResult::Kind::Output, map_[static_cast<size_t>(results_[i])],
                               static_cast<int32_t>(body_.results.size())});
  }

  void place() {
    close_body();
    std::vector<TensorSpec> specs;
    for (size_t i = results_.size(); i-- > 0;) specs.push_back(g_.spec(results_[i]));
    Rewriter r(g_);
    const NodeId once = r.insert_before(r.first(), std::string(kOnce), states_, {}, specs);
    g_.node(once).bodies.push_back(std::make_shared<const Graph>(std::move(body_)));
    g_.node(once).origin = 0;
    for (size_t i = 0; i < results_.size(); ++i) {
      const ValueId old = results_[results_.size() - 1 - i];
      r.replace(old, g_.node(once).outputs[i]);
      r.erase_if_unused(g_.values[static_cast<size_t>(old)].producer);
    }
  }

  static constexpr int64_t kSmall = 1 << 20;
  Graph& g_;
  std::vector<bool> steady_;
  std::vector<int64_t> basis_;
  std::vector<ValueId> map_;      // to values of the body
  std::vector<ValueId> results_;  // last first
  std::vector<ValueId> states_, constants_;
  Graph body_;
};

bool run_once(Graph& graph, const PassOptions& options) { return options.frozen && Separation(graph).run(); }

const RegisterPass pass({"run_once", Stage::Fuse,
                         "computes what depends on state alone when the state changes (inference)", &run_once});

}  // namespace

}  // namespace hw
