// Cutting a joint graph in two. Values that backward needs of forward are saved, views are made again from what they show.
#include "compiler/program/split.h"

#include <algorithm>

#include "base/error.h"
#include "op/op_def.h"

namespace hw {

namespace {

class Splitter {
 public:
  Splitter(const ProgramParts& joint, size_t boundary, size_t outputs, int32_t arguments)
      : joint_(joint),
        boundary_(boundary),
        num_returned_(outputs),
        num_outputs_(outputs < joint.returned.size() ? static_cast<size_t>(joint.returned[outputs].first)
                                                     : joint.outputs.size()),
        arguments_(arguments) {}
  SplitParts run();

 private:
  void find_exchanges();
  void make_backward();
  void make_forward();
  ValueId import(ValueId v);
  ValueId import_source(int32_t source);
  void copy_node(NodeId id, Graph& to);

  const ProgramParts& joint_;
  const size_t boundary_, num_returned_, num_outputs_;  // of the forward pass: what it returns, and values of that
  const int32_t arguments_;
  /// What exchanges between processes write: the source, what it holds after the forward pass and at the end. kNone: there are none.
  struct Token {
    int32_t source = kNone;
    ValueId after_forward = kNone, at_end = kNone;
  };
  Token token_;
  SplitParts parts_;
  std::vector<ValueId> map_;      // joint value -> backward value
  std::vector<bool> in_forward_;  // by node
  std::vector<ValueId> saved_;    // joint values
  struct Late {                   // sources whose place among the arguments is known at the end
    int32_t backward_source, original;
    bool is_saved;
  };
  std::vector<Late> late_;
};

ValueId Splitter::import_source(int32_t source) {
  const GraphSource& s = joint_.graph.sources[static_cast<size_t>(source)];
  const ProgramSource& from = joint_.sources[static_cast<size_t>(source)];
  Graph& g = parts_.backward.graph;
  ValueId v = g.add_source(s.kind, joint_.graph.spec(s.value), s.name, s.tensor);
  ProgramSource to = from;
  if (from.input >= 0) {
    if (from.input >= arguments_)
      to.input = from.input - arguments_;
    else
      late_.push_back({static_cast<int32_t>(g.sources.size() - 1), from.input, false});
  }
  parts_.backward.sources.push_back(to);
  return v;
}

/// The backward graph's value for a joint one: a source, a view made again, or a saved value.
ValueId Splitter::import(ValueId v) {
  if (v == kNone) return kNone;
  ValueId& known = map_[static_cast<size_t>(v)];
  if (known != kNone) return known;
  Graph& g = parts_.backward.graph;
  if (int32_t source = joint_.graph.source_of(v); source == kNone) {
    const NodeId id = joint_.graph.values[static_cast<size_t>(v)].producer;
    const Node& n = joint_.graph.node(id);
    const OpDef* op = find_op(n.op);
    if (op && op->kind() == OpKind::View && in_forward_[static_cast<size_t>(id)]) {
      ValueId x = import(n.inputs[0]);
      return map_[static_cast<size_t>(v)] = g.add(n.op, {x}, n.attrs, joint_.graph.spec(v), n.origin);
    }
    if (!in_forward_[static_cast<size_t>(id)]) bug("a value of the backward pass is used before it is made");
  } else if (const ProgramSource& s = joint_.sources[static_cast<size_t>(source)];
             !s.leaf.defined() && s.grad_of_input < 0) {
    return known = import_source(source);  // gradients come and go: they are saved as what is computed
  }
  late_.push_back({static_cast<int32_t>(g.sources.size()), static_cast<int32_t>(saved_.size()), true});
  saved_.push_back(v);
  ValueId made = g.add_source(GraphSource::Kind::Input, joint_.graph.spec(v), text("saved", saved_.size() - 1));
  parts_.backward.sources.push_back({});
  return map_[static_cast<size_t>(v)] = made;
}

void Splitter::copy_node(NodeId id, Graph& to) {
  const Node& n = joint_.graph.node(id);
  for (const AttrBinding& b : n.bindings)  // the forward pass draws; what backward needs of it is saved
    if (b.kind != AttrBinding::Kind::Host) bug("the backward pass draws random numbers in ", n.op);
  std::vector<ValueId> inputs;
  for (ValueId v : n.inputs) inputs.push_back(import(v));
  std::vector<TensorSpec> specs;
  for (ValueId v : n.outputs) specs.push_back(joint_.graph.spec(v));
  NodeId made = to.make_node(n.op, std::move(inputs), n.attrs, specs, n.origin);
  to.order.push_back(made);
  to.node(made).bindings = n.bindings;
  to.node(made).bodies = n.bodies;
  for (size_t i = 0; i < n.outputs.size(); ++i) map_[static_cast<size_t>(n.outputs[i])] = to.node(made).outputs[i];
}

/// Both passes have the token as state of their own. The order between them is that of the calls.
void Splitter::find_exchanges() {
  for (size_t i = 0; i < joint_.graph.order.size(); ++i) {
    const Node& n = joint_.graph.node(joint_.graph.order[i]);
    if (n.op != "_exchange") continue;
    if (token_.source == kNone) {
      token_.source = joint_.graph.source_of(n.inputs[0]);
      token_.after_forward = n.inputs[0];
    }
    token_.at_end = n.outputs[0];
    if (i < boundary_) token_.after_forward = n.outputs[0];
  }
}

void Splitter::make_backward() {
  const Graph& joint = joint_.graph;
  Graph& g = parts_.backward.graph;
  g.name = joint.name + " backward";
  g.origins = joint.origins;
  // Only what the gradients need: a walk from the results.
  std::vector<bool> needed(joint.values.size());
  const std::span<const Capture::Output> results(joint_.outputs.begin() + static_cast<std::ptrdiff_t>(num_outputs_),
                                                 joint_.outputs.end());
  for (const Capture::Output& o : results) needed[static_cast<size_t>(o.value)] = true;
  const bool exchanges = token_.at_end != token_.after_forward;
  if (exchanges) needed[static_cast<size_t>(token_.at_end)] = true;  // others need what this process sends
  std::vector<NodeId> keep;
  for (size_t i = joint.order.size(); i-- > boundary_;) {
    const Node& n = joint.node(joint.order[i]);
    if (std::none_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return needed[static_cast<size_t>(v)]; }))
      continue;
    keep.push_back(joint.order[i]);
    for (ValueId v : n.inputs)
      if (v != kNone) needed[static_cast<size_t>(v)] = true;
  }
  // Gradients of outputs are arguments 0.. whether they are read or not.
  for (size_t i = 0; i < joint.sources.size(); ++i)
    if (joint_.sources[i].input >= arguments_)
      map_[static_cast<size_t>(joint.sources[i].value)] = import_source(static_cast<int32_t>(i));
  if (exchanges) map_[static_cast<size_t>(token_.after_forward)] = import_source(token_.source);
  const auto token_source = static_cast<int32_t>(g.sources.size()) - 1;
  for (size_t i = keep.size(); i-- > 0;) copy_node(keep[i], g);
  int32_t group = 0;
  for (const Capture::Output& from : results) {
    Capture::Output o;
    o.value = import(from.value);
    parts_.backward.outputs.push_back(o);
    g.results.push_back({GraphResult::Kind::Output, o.value, group++});
  }
  if (exchanges) g.results.push_back({GraphResult::Kind::Update, import(token_.at_end), token_source});
  for (size_t i = num_returned_; i < joint_.returned.size(); ++i) {
    Capture::Returned r = joint_.returned[i];
    r.first -= static_cast<int32_t>(num_outputs_);
    r.whole = kNone;
    r.itself = false;
    parts_.backward.returned.push_back(r);
  }
  parts_.backward.wholes = joint_.wholes;
  for (ProgramWhole& w : parts_.backward.wholes) w.written = false;
}

void Splitter::make_forward() {
  parts_.forward = joint_;
  Graph& g = parts_.forward.graph;
  g.order.resize(boundary_);
  g.sources.clear();
  parts_.forward.sources.clear();
  std::vector<int32_t> renumbered(joint_.graph.sources.size(), kNone);
  for (size_t i = 0; i < joint_.graph.sources.size(); ++i) {
    if (joint_.sources[i].input >= arguments_) continue;
    renumbered[i] = static_cast<int32_t>(g.sources.size());
    const GraphSource& s = joint_.graph.sources[i];
    g.values[static_cast<size_t>(s.value)].slot = renumbered[i];
    g.sources.push_back(s);
    parts_.forward.sources.push_back(joint_.sources[i]);
  }
  parts_.forward.outputs.resize(num_outputs_);
  parts_.forward.returned.resize(num_returned_);
  size_t made = 0;  // outputs that are results of the graph: the first ones
  for (Capture::Output& o : parts_.forward.outputs) {
    made += o.source == kNone;
    if (o.source != kNone) o.source = renumbered[static_cast<size_t>(o.source)];
  }
  g.results.clear();
  for (const GraphResult& r : joint_.graph.results)
    if (r.kind == GraphResult::Kind::Output && g.results.size() < made) g.results.push_back(r);
  // Saved values show memory of their own, unless they are an output as well.
  int32_t group = static_cast<int32_t>(num_outputs_);
  for (ValueId v : saved_) {
    Capture::Output o;
    o.value = v;
    parts_.forward.returned.push_back({.first = static_cast<int32_t>(parts_.forward.outputs.size())});
    parts_.forward.outputs.push_back(o);
    g.results.push_back({GraphResult::Kind::Output, v, group++});
  }
  for (GraphResult r : joint_.graph.results) {
    if (r.kind == GraphResult::Kind::Output) continue;
    if (r.kind == GraphResult::Kind::Update && r.source == token_.source) r.value = token_.after_forward;
    r.source = renumbered[static_cast<size_t>(r.source)];
    g.results.push_back(r);
  }
}

SplitParts Splitter::run() {
  map_.assign(joint_.graph.values.size(), kNone);
  in_forward_.assign(joint_.graph.nodes.size(), false);
  for (size_t i = 0; i < boundary_; ++i) in_forward_[static_cast<size_t>(joint_.graph.order[i])] = true;
  find_exchanges();
  make_backward();
  make_forward();
  // Arguments of backward: gradients, saved values, arguments of the function.
  const int32_t gradients = static_cast<int32_t>(joint_.stand_ins.size()) - arguments_;
  parts_.num_saved = static_cast<int32_t>(saved_.size());
  for (const Late& l : late_) {
    ProgramSource& s = parts_.backward.sources[static_cast<size_t>(l.backward_source)];
    if (l.is_saved) {
      s.input = gradients + l.original;
      continue;
    }
    auto found = std::find(parts_.arguments.begin(), parts_.arguments.end(), l.original);
    s.input = gradients + parts_.num_saved + static_cast<int32_t>(found - parts_.arguments.begin());
    if (found == parts_.arguments.end()) parts_.arguments.push_back(l.original);
  }
  return std::move(parts_);
}

}  // namespace

SplitParts split_backward(const ProgramParts& joint, size_t boundary, size_t outputs, int32_t arguments) {
  return Splitter(joint, boundary, outputs, arguments).run();
}

}  // namespace hw
