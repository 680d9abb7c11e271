// merge_equal: equal calls on equal inputs are made once.
#include <unordered_map>

#include "compiler/pass.h"
#include "compiler/roots.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "op/op_def.h"

namespace hw {

namespace {

constexpr int64_t kMostElements = 4096;  // larger constants are not compared

class Merging {
 public:
  explicit Merging(Graph& graph) : g_(graph), roots_(graph), r_(graph) {}

  bool run() {
    merge_constants();
    for (NodeId n = r_.first(); n != kNone;) {
      const NodeId at = n;
      n = r_.next(n);
      merge(at);
    }
    return changed_;
  }

 private:
  static void mix(size_t& h, size_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull, h ^= h >> 29; }

  void merge_constants() {
    std::unordered_multimap<size_t, ValueId> seen;
    for (const GraphSource& s : g_.sources) {
      if (s.kind != GraphSource::Kind::Constant || s.tensor.numel() > kMostElements) continue;
      size_t h = static_cast<size_t>(s.tensor.dtype());
      for (int64_t n : s.tensor.shape()) mix(h, static_cast<size_t>(n));
      if (s.tensor.numel() == 1) mix(h, AttrValue(load_scalar(s.tensor.data(), s.tensor.dtype())).hash());
      const ValueId* same = nullptr;
      for (auto [it, end] = seen.equal_range(h); it != end && !same; ++it)
        if (same_constant(it->second, s.value)) same = &it->second;
      if (!same)
        seen.emplace(h, s.value);
      else if (!r_.unused(s.value) && !roots_.is_shared(s.value) && !roots_.is_shared(*same))
        replace(s.value, *same);
    }
  }

  bool same_constant(ValueId a, ValueId b) const {
    auto data = [&](ValueId v) { return g_.sources[static_cast<size_t>(g_.source_of(v))].tensor; };
    return same_spec(g_.spec(a), g_.spec(b)) && same_elements(data(a), data(b));
  }

  bool mergeable(const Node& node) const {
    const OpDef* op = find_op(node.op);
    if (!op || op->is_random() || node.op.starts_with("empty")) return false;
    for (const AttrBinding& b : node.bindings)
      if (b.kind != AttrBinding::Kind::Host) return false;
    return true;
  }

  static size_t hash(const Node& node) {
    size_t h = std::hash<std::string>{}(node.op);
    for (ValueId v : node.inputs) mix(h, static_cast<size_t>(v));
    for (const AttrValue& a : node.attrs) mix(h, a.hash());
    return h;
  }

  bool same_call(const Node& a, const Node& b) const {
    if (a.op != b.op || a.inputs != b.inputs || a.outputs.size() != b.outputs.size() || a.bindings != b.bindings ||
        a.bodies != b.bodies || !same_attrs(a.attrs, b.attrs))
      return false;
    for (size_t i = 0; i < a.outputs.size(); ++i)
      if (!same_spec(g_.spec(a.outputs[i]), g_.spec(b.outputs[i]))) return false;
    return true;
  }

  /// Views of one memory may stand for each other; memory that several outputs of the call share stays as it is.
  bool may_replace(const Node& gone, const Node& kept) const {
    for (size_t i = 0; i < gone.outputs.size(); ++i) {
      const ValueId a = gone.outputs[i], b = kept.outputs[i];
      if (roots_.root(a) != roots_.root(b) && (roots_.is_shared(a) || roots_.is_shared(b))) return false;
    }
    return true;
  }

  /// The same part of the same memory seen the same way, by whatever calls.
  bool same_view(ValueId a, ValueId b) const {
    const Location &x = roots_.location(a), &y = roots_.location(b);
    return x.root == y.root && x.offset == y.offset && same_spec(g_.spec(a), g_.spec(b));
  }

  bool merge_view(NodeId n) {
    roots_.place(g_, g_.node(n));
    const ValueId v = g_.node(n).outputs[0];
    if (!roots_.location(v).known || roots_.root(v) == v) return false;
    size_t h = static_cast<size_t>(roots_.root(v));
    mix(h, static_cast<size_t>(roots_.location(v).offset));
    for (int64_t size : g_.spec(v).shape) mix(h, static_cast<size_t>(size));
    for (auto [it, end] = views_.equal_range(h); it != end; ++it) {
      if (!same_view(it->second, v)) continue;
      replace(v, it->second);
      r_.erase(n);
      return true;
    }
    views_.emplace(h, v);
    return false;
  }

  void merge(NodeId n) {
    if (!mergeable(g_.node(n)) || merge_view(n)) return;
    const size_t h = hash(g_.node(n));
    for (auto [it, end] = seen_.equal_range(h); it != end; ++it) {
      const Node &kept = g_.node(it->second), &gone = g_.node(n);
      if (!same_call(kept, gone) || !may_replace(gone, kept)) continue;
      for (size_t i = 0; i < gone.outputs.size(); ++i) replace(gone.outputs[i], kept.outputs[i]);
      r_.erase(n);
      return;
    }
    seen_.emplace(h, n);
  }

  void replace(ValueId gone, ValueId kept) {
    roots_.replaced(gone, kept);
    r_.replace(gone, kept);
    changed_ = true;
  }

  Graph& g_;
  Roots roots_;
  Rewriter r_;
  std::unordered_multimap<size_t, NodeId> seen_;
  std::unordered_multimap<size_t, ValueId> views_;
  bool changed_ = false;
};

bool merge_equal(Graph& graph, const PassOptions&) { return Merging(graph).run(); }

const RegisterPass pass({"merge_equal", Stage::Simplify, "makes equal calls on equal inputs once", &merge_equal});

}  // namespace

}  // namespace hw
