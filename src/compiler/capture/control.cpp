// Control flow on data: graphs captured inside of a capture.
#include "base/error.h"
#include "compiler/capture/capture.h"
#include "core/read_guard.h"

namespace hw {

/// A tensor of the parent becomes an input of the nested graph.
Capture::Memory& Capture::lift(const Tensor& t) {
  parent_->value_of(t);  // so that the parent knows it, or says why not
  Tensor shown = t.alias();
  lifted_.push_back(t);
  Memory& m = add_source_memory(shown, GraphSource::Kind::Input, "");
  source_tensors_.back() = t;
  source_notes_.back().input = static_cast<int32_t>(stand_ins_.size());
  stand_ins_.push_back(shown);
  return m;
}

std::shared_ptr<const Graph> Capture::body(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  for (const auto& [storage, m] : memories_)
    check_runtime(!m.written || m.source == kNone, "hw.cond and hw.while_loop: a tensor from outside, ", m.base,
                  ", is written in place inside; return the new value instead");
  for (const LeafGradient& g : gradients_)
    check_runtime(!g.written, "hw.cond and hw.while_loop: backward() inside sets a gradient; call it outside");
  auto made = std::make_shared<Graph>();
  for (const Tensor& t : outputs) {
    const ValueId v = value_of(t);
    // A copy of its own, laid out row by row: what the node's output will be.
    TensorSpec spec = graph_.spec(v);
    spec.strides = contiguous_strides(spec.shape);
    static const Op clone{"clone"};
    graph_.results.push_back({GraphResult::Kind::Output,
                              graph_.add("clone", {v}, clone.def().default_attrs(), spec, origin()),
                              static_cast<int32_t>(graph_.results.size())});
  }
  *made = graph_;
  made->sources.clear();
  std::vector<bool> used(graph_.sources.size());
  for (const Tensor& t : inputs) {
    int32_t found = kNone;
    for (size_t i = 0; i < graph_.sources.size() && found == kNone; ++i) {
      const bool mine =
          graph_.sources[i].kind == GraphSource::Kind::Input && !used[i] &&
          (source_tensors_[i].defined() ? source_tensors_[i] == t : input_given_[i].defined() && input_given_[i] == t);
      if (mine) found = static_cast<int32_t>(i);
    }
    if (found == kNone) {
      made->add_source(GraphSource::Kind::Input, t.spec(), "");
      continue;
    }
    used[static_cast<size_t>(found)] = true;
    made->values[static_cast<size_t>(graph_.sources[static_cast<size_t>(found)].value)].slot =
        static_cast<int32_t>(made->sources.size());
    made->sources.push_back(graph_.sources[static_cast<size_t>(found)]);
  }
  for (size_t i = 0; i < graph_.sources.size(); ++i) {
    const GraphSource& s = graph_.sources[i];
    if (used[i]) continue;
    if (s.kind != GraphSource::Kind::Constant) bug("a nested graph reads a source that is no input of its node");
    made->values[static_cast<size_t>(s.value)].slot = static_cast<int32_t>(made->sources.size());
    made->sources.push_back(s);
  }
  return made;
}

Tensors Capture::add_control(std::string op, std::span<const Tensor> inputs,
                             std::vector<std::shared_ptr<const Graph>> bodies) {
  std::vector<ValueId> in;
  for (const Tensor& t : inputs) in.push_back(value_of(t));
  std::vector<TensorSpec> specs;
  for (const GraphResult& r : bodies.back()->results) specs.push_back(bodies.back()->spec(r.value));
  NodeId n = graph_.make_node(std::move(op), std::move(in), {}, specs, origin());
  graph_.order.push_back(n);
  graph_.node(n).bodies = std::move(bodies);
  Tensors out;
  for (ValueId v : std::vector<ValueId>(graph_.node(n).outputs)) {
    out.push_back(abstract_tensor(graph_.spec(v)));
    Memory m;
    m.base = out.back();
    m.value = v;
    m.origin = graph_.node(n).origin;
    m.shown.push_back({geometry_of(out.back()), v});
    memories_[out.back()->storage.get()] = std::move(m);
  }
  return out;
}

}  // namespace hw
