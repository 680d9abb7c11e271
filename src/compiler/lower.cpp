// Lowering: views become (root, offset); lifetimes of roots; which roots share memory; kernel calls, prepared; offsets.
#include "compiler/lower.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/memory/place.h"
#include "compiler/regions/aliasing.h"
#include "compiler/regions/lower_region.h"
#include "compiler/regions/region.h"
#include "op/rules.h"

namespace hw {

namespace {

constexpr int32_t kEnd = INT32_MAX - 1;

/// Memory of one or more values: made by a kernel, or a source.
struct Root {
  PlanBuffer::Kind kind = PlanBuffer::Kind::Arena;
  int32_t index = kNone;  // of the source, constant or output
  int64_t bytes = 0;
  int32_t first = 0, last = -1;  // steps
  int32_t buffer = kNone;        // once emitted
  int32_t joined = kNone;        // shares the memory of this root
};

/// How a value lies in its root.
struct Placed {
  int32_t root = kNone;
  int64_t offset = 0;  // bytes
  TensorSpec spec;
};

int64_t bytes_of(const TensorSpec& s) {
  if (s.numel() == 0) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < s.shape.size(); ++i) last += (s.shape[i] - 1) * s.strides[i];
  return (last + 1) * dtype_size(s.dtype);
}

bool same_layout(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

class Lowering {
 public:
  explicit Lowering(const Graph& graph) : g_(graph) {}
  Lowered run();

 private:
  void place_sources();
  void place_node(const Node& n, int32_t step);
  void place_view(const OpDef& op, const Node& n);
  void find_lifetimes();
  void settle_results();
  void settle_update(size_t result);
  bool free_for(int32_t target, ValueId value) const;
  void reuse_inputs();
  bool dies_into(int32_t root, const Node& n, size_t in, size_t out) const;
  void make_blocks();
  void assign_offsets();
  int32_t new_root(PlanBuffer::Kind kind, int32_t index, int64_t bytes, int32_t first);
  int32_t final_root(int32_t r) const {
    while (roots_[static_cast<size_t>(r)].joined != kNone) r = roots_[static_cast<size_t>(r)].joined;
    return r;
  }
  Root& root(int32_t r) { return roots_[static_cast<size_t>(r)]; }
  Placed& placed(ValueId v) { return placed_[static_cast<size_t>(v)]; }

  int32_t buffer_of(int32_t r);
  int32_t tensor_of(const Placed& p);
  int32_t tensor_of(ValueId v) { return v == kNone ? kNone : tensor_of(placed(v)); }
  void emit(const Node& n);
  void emit_copy(const Placed& to, const Placed& from, int32_t origin);
  void emit_write_view(const Node& n);
  void emit_results();

  const Graph& g_;
  Plan plan_;
  std::vector<Root> roots_;
  std::vector<Placed> placed_;
  std::vector<int32_t> node_step_;
  std::vector<int32_t> source_root_;
  std::vector<bool> update_in_place_;   // by result
  std::vector<Placed> result_copies_;   // by result: where an output is copied to at the end
  std::vector<Placed> update_staging_;  // by result: a source's old content that another update takes
  std::vector<Block> blocks_;           // of the arena
  std::vector<int32_t> block_buffer_;   // by block: into plan_.buffers
  std::vector<int32_t> called_at_;      // by step of the plan: when, as lifetimes count
  int32_t num_steps_ = 0;
};

int32_t Lowering::new_root(PlanBuffer::Kind kind, int32_t index, int64_t bytes, int32_t first) {
  roots_.push_back({kind, index, bytes, first, first, kNone, kNone});
  return static_cast<int32_t>(roots_.size() - 1);
}

void Lowering::place_sources() {
  for (const GraphSource& s : g_.sources) {
    const TensorSpec& spec = g_.spec(s.value);
    int32_t index;
    bool constant = s.kind == GraphSource::Kind::Constant;
    if (constant) {
      index = static_cast<int32_t>(plan_.constants.size());
      plan_.constants.push_back(s.tensor);
    } else {
      index = static_cast<int32_t>(plan_.sources.size());
      plan_.sources.push_back({s.name, spec, s.kind == GraphSource::Kind::State, false});
    }
    int32_t r = new_root(constant ? PlanBuffer::Kind::Constant : PlanBuffer::Kind::Source, index, bytes_of(spec), -1);
    source_root_.push_back(r);
    placed(s.value) = {r, 0, spec};
  }
}

void Lowering::place_view(const OpDef& op, const Node& n) {
  const Placed& x = placed(n.inputs[0]);
  View v = op.view_rule()(x.spec, n.attrs);
  Placed& y = placed(n.outputs[0]);
  y = {x.root, 0, g_.spec(n.outputs[0])};
  if (op.outputs()[0].dtype != &dtype::same)
    y.spec.dtype = op.outputs()[0].dtype({op, {&x.spec, 1}, n.attrs, DType::None});
  if (v.shape != y.spec.shape) bug("view ", n.op, " gives ", v.shape, ", the graph has ", y.spec);
  y.spec.strides = v.strides;
  y.offset = x.offset + v.offset * dtype_size(y.spec.dtype);
}

void Lowering::place_node(const Node& n, int32_t step) {
  for (ValueId v : n.outputs) {
    const TensorSpec& spec = g_.spec(v);
    placed(v) = {new_root(PlanBuffer::Kind::Arena, kNone, bytes_of(spec), step), 0, spec};
  }
}

void Lowering::find_lifetimes() {
  for (NodeId id : g_.order) {
    int32_t step = node_step_[static_cast<size_t>(id)];
    if (step == kNone) continue;
    const Node& n = g_.node(id);
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (reads_input(n, i)) {
        Root& r = root(placed(n.inputs[i]).root);
        r.last = std::max(r.last, step);
      }
  }
  for (const GraphResult& r : g_.results) root(placed(r.value).root).last = kEnd;
}

/// Outputs and gradients get buffers of the caller; a value that is a source, a constant or already given away is copied.
void Lowering::settle_results() {
  // Outputs have the group that they name; gradients, and outputs that name none, one of their own above these.
  size_t named = 0;
  for (const GraphResult& r : g_.results)
    if (r.kind == GraphResult::Kind::Output) named = std::max(named, static_cast<size_t>(r.source + 1));
  std::vector<int32_t> group_output(named + g_.results.size(), kNone);  // group -> output buffer
  std::vector<int32_t> group_root(named + g_.results.size(), kNone);
  update_in_place_.assign(g_.results.size(), false);
  result_copies_.resize(g_.results.size());
  update_staging_.resize(g_.results.size());
  for (size_t i = 0; i < g_.results.size(); ++i) {
    const GraphResult& r = g_.results[i];
    if (r.kind == GraphResult::Kind::Update) continue;
    size_t group = r.kind == GraphResult::Kind::Output && r.source != kNone ? static_cast<size_t>(r.source) : named + i;
    const int32_t at = placed(r.value).root;
    if (group_root[group] == at) continue;  // a view of an output
    const bool free = root(at).kind == PlanBuffer::Kind::Arena && group_output[group] == kNone;
    const int32_t output = static_cast<int32_t>(plan_.outputs.size());
    if (free) {
      root(at).kind = PlanBuffer::Kind::Output;
      root(at).index = output;
      plan_.outputs.push_back(root(at).bytes);
      group_root[group] = at;
    } else {
      TensorSpec spec = g_.spec(r.value);
      spec.strides = contiguous_strides(spec.shape);
      int32_t copy = new_root(PlanBuffer::Kind::Output, output, bytes_of(spec), kEnd);
      result_copies_[i] = {copy, 0, spec};
      plan_.outputs.push_back(root(copy).bytes);
    }
    group_output[group] = output;
  }
  for (size_t i = 0; i < g_.results.size(); ++i)
    if (g_.results[i].kind == GraphResult::Kind::Update) settle_update(i);
}

/// Whether the memory of a source may take `value` at the step that makes it: its old content is not read later, and in that step
/// only by an input that the op may overwrite.
bool Lowering::free_for(int32_t target, ValueId value) const {
  const Root& old = roots_[static_cast<size_t>(target)];
  const Placed& v = placed_[static_cast<size_t>(value)];
  const int32_t made = roots_[static_cast<size_t>(v.root)].first;
  if (old.last != made) return old.last < made;
  const Node* n = g_.producer(value);
  if (!n) return false;
  const size_t out = static_cast<size_t>(g_.values[static_cast<size_t>(value)].slot);
  for (size_t i = 0; i < n->inputs.size(); ++i) {
    if (!reads_input(*n, i) || placed_[static_cast<size_t>(n->inputs[i])].root != target) continue;
    const Placed& x = placed_[static_cast<size_t>(n->inputs[i])];
    if (x.offset != 0 || !same_layout(x.spec, v.spec) || !may_overwrite(*n, i, out)) return false;
  }
  return true;
}

/// The new content of a source is computed right where it belongs if the old content is not needed any more by then.
void Lowering::settle_update(size_t result) {
  const GraphResult& r = g_.results[result];
  const int32_t target = source_root_[static_cast<size_t>(r.source)];
  plan_.sources[static_cast<size_t>(root(target).index)].written = true;
  const Placed& v = placed(r.value);
  const TensorSpec& want = g_.spec(g_.sources[static_cast<size_t>(r.source)].value);
  const bool fits = v.offset == 0 && same_layout(v.spec, want);
  if (root(v.root).kind == PlanBuffer::Kind::Source) {
    if (v.root == target && fits) {
      update_in_place_[result] = true;
      return;
    }
    TensorSpec spec = g_.spec(r.value);
    spec.strides = contiguous_strides(spec.shape);
    update_staging_[result] = {new_root(PlanBuffer::Kind::Arena, kNone, bytes_of(spec), kEnd), 0, spec};
    root(update_staging_[result].root).last = kEnd;
    return;
  }
  if (root(v.root).kind != PlanBuffer::Kind::Arena || !fits || !free_for(target, r.value)) return;
  root(v.root).joined = target;
  update_in_place_[result] = true;
}

/// Whether input `in` of a node is needed no more and output `out` may take its place.
bool Lowering::dies_into(int32_t r, const Node& n, size_t in, size_t out) const {
  const Root& from = roots_[static_cast<size_t>(r)];
  const Placed &x = placed_[static_cast<size_t>(n.inputs[in])], &y = placed_[static_cast<size_t>(n.outputs[out])];
  if (from.kind != PlanBuffer::Kind::Arena || from.last != roots_[static_cast<size_t>(y.root)].first) return false;
  if (x.offset != 0 || !same_layout(x.spec, y.spec)) return false;
  if (from.bytes != roots_[static_cast<size_t>(y.root)].bytes) return false;
  for (size_t i = 0; i < n.inputs.size(); ++i)  // no second, differently placed use of the same memory in this step
    if (i != in && reads_input(n, i) && placed_[static_cast<size_t>(n.inputs[i])].root == x.root &&
        !(placed_[static_cast<size_t>(n.inputs[i])].offset == 0 &&
          same_layout(placed_[static_cast<size_t>(n.inputs[i])].spec, x.spec) && may_overwrite(n, i, out)))
      return false;
  return may_overwrite(n, in, out);
}

void Lowering::reuse_inputs() {
  for (NodeId id : g_.order) {
    const Node& n = g_.node(id);
    if (node_step_[static_cast<size_t>(id)] == kNone) continue;
    for (size_t out = 0; out < n.outputs.size(); ++out) {
      Root& made = root(placed(n.outputs[out]).root);
      if (made.joined != kNone) continue;
      for (size_t in = 0; in < n.inputs.size(); ++in) {
        if (!reads_input(n, in)) continue;
        int32_t r = placed(n.inputs[in]).root;
        if (root(r).joined != kNone || !dies_into(r, n, in, out)) continue;
        const int32_t end = final_root(placed(n.outputs[out]).root);
        if (root(end).kind == PlanBuffer::Kind::Source && !free_for(end, n.inputs[in])) continue;
        // The dying root joins the new one, which may be an output's memory.
        root(r).joined = placed(n.outputs[out]).root;
        break;
      }
    }
  }
}

/// What lies in the arena and when. Roots that share memory are one block.
void Lowering::make_blocks() {
  std::vector<int32_t> block_of(roots_.size(), kNone);
  for (size_t i = 0; i < roots_.size(); ++i) {
    int32_t f = final_root(static_cast<int32_t>(i));
    if (root(f).kind != PlanBuffer::Kind::Arena) continue;
    int32_t& b = block_of[static_cast<size_t>(f)];
    const Root& r = roots_[i];
    if (b == kNone) {
      b = static_cast<int32_t>(blocks_.size());
      blocks_.push_back({r.bytes, std::min(r.first, num_steps_), std::min(std::max(r.last, r.first), num_steps_)});
    }
    Block& block = blocks_[static_cast<size_t>(b)];
    block.bytes = std::max(block.bytes, r.bytes);
    block.first = std::min(block.first, std::min(r.first, num_steps_));
    block.last = std::max(block.last, std::min(std::max(r.last, r.first), num_steps_));
  }
  block_buffer_.resize(blocks_.size());
  for (size_t i = 0; i < roots_.size(); ++i) {
    if (block_of[i] == kNone) continue;
    const auto b = static_cast<size_t>(block_of[i]);
    block_buffer_[b] = roots_[i].buffer = static_cast<int32_t>(plan_.buffers.size());
    plan_.buffers.push_back({PlanBuffer::Kind::Arena, kNone, 0, blocks_[b].bytes});
  }
}

/// The scratch of a kernel is a block that lives in its step alone.
void Lowering::assign_offsets() {
  const size_t tensors = blocks_.size();
  for (size_t i = 0; i < plan_.steps.size(); ++i)
    if (const int64_t bytes = plan_.steps[i].scratch_bytes) blocks_.push_back({bytes, called_at_[i], called_at_[i]});
  const Placement p = place_blocks(blocks_);
  plan_.arena_bytes = p.bytes;
  plan_.arena_lower_bound = p.lower_bound;
  for (size_t b = 0; b < tensors; ++b) plan_.buffers[static_cast<size_t>(block_buffer_[b])].offset = p.offsets[b];
  size_t next = tensors;
  for (PlanStep& s : plan_.steps)
    if (s.scratch_bytes) s.scratch_offset = p.offsets[next++];
}

int32_t Lowering::buffer_of(int32_t r) {
  Root& f = root(final_root(r));
  if (f.buffer == kNone) {
    f.buffer = static_cast<int32_t>(plan_.buffers.size());
    plan_.buffers.push_back({f.kind, f.index, 0, f.bytes});
  }
  return f.buffer;
}

int32_t Lowering::tensor_of(const Placed& p) {
  plan_.tensors.push_back({buffer_of(p.root), p.offset, p.spec});
  return static_cast<int32_t>(plan_.tensors.size() - 1);
}

void Lowering::emit_copy(const Placed& to, const Placed& from, int32_t origin) {
  int32_t target = tensor_of(to), source = tensor_of(from);
  plan_.steps.push_back(
      {"copy_", {target, source}, {target}, get_op("copy_").default_attrs(), {}, DType::None, origin, -1, {}});
}

/// A copy of x, unless it is there already, and the region over it.
void Lowering::emit_write_view(const Node& n) {
  const Placed &x = placed(n.inputs[0]), &v = placed(n.inputs[1]), &y = placed(n.outputs[0]);
  if (final_root(x.root) != final_root(y.root)) emit_copy(y, x, n.origin);
  Placed region{y.root, y.offset + n.attrs[2].i64() * dtype_size(y.spec.dtype), y.spec};
  region.spec.shape = n.attrs[0].ints();
  region.spec.strides = n.attrs[1].ints();
  emit_copy(region, v, n.origin);
}

void Lowering::emit(const Node& n) {
  if (n.op == "_write_view") return emit_write_view(n);
  PlanStep s;
  s.op = n.op;
  s.attrs = n.attrs;
  s.bindings = n.bindings;
  s.origin = n.origin;
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    specs.push_back(n.inputs[i] == kNone ? TensorSpec{} : placed(n.inputs[i]).spec);
    s.inputs.push_back(n.inputs[i] == kNone ? kNone
                       : reads_input(n, i)  ? tensor_of(n.inputs[i])
                                            : tensor_of(n.outputs[0]));  // sizes only
  }
  for (ValueId v : n.outputs) s.outputs.push_back(tensor_of(v));
  if (n.op == kRegion) {
    std::vector<TensorSpec> out;
    for (ValueId v : n.outputs) out.push_back(placed(v).spec);
    s.attrs.clear();
    s.loop = static_cast<int32_t>(plan_.loops.size());
    plan_.loops.push_back(lower_region(n, specs, out));
    plan_.steps.push_back(std::move(s));
    return;
  }
  if (!n.bodies.empty()) {
    for (const auto& body : n.bodies) {
      s.bodies.push_back(static_cast<int32_t>(plan_.bodies.size()));
      plan_.bodies.push_back(lower(*body).plan);
    }
    plan_.steps.push_back(std::move(s));
    return;
  }
  s.compute = compute_dtype(get_op(n.op), specs);
  plan_.steps.push_back(std::move(s));
}

void Lowering::emit_results() {
  for (size_t i = 0; i < g_.results.size(); ++i) {
    const GraphResult& r = g_.results[i];
    if (r.kind == GraphResult::Kind::Update) {
      if (update_staging_[i].root != kNone) emit_copy(update_staging_[i], placed(r.value), 0);
      continue;
    }
    if (result_copies_[i].root == kNone) {
      plan_.results.push_back(tensor_of(r.value));
      continue;
    }
    emit_copy(result_copies_[i], placed(r.value), 0);
    plan_.results.push_back(tensor_of(result_copies_[i]));
  }
  for (size_t i = 0; i < g_.results.size(); ++i) {
    const GraphResult& r = g_.results[i];
    if (r.kind != GraphResult::Kind::Update || update_in_place_[i]) continue;
    Placed target = placed(g_.sources[static_cast<size_t>(r.source)].value);
    const Placed& from = update_staging_[i].root != kNone ? update_staging_[i] : placed(r.value);
    emit_copy(target, from, 0);
  }
}

Lowered Lowering::run() {
  plan_.name = g_.name;
  plan_.origins = g_.origins;
  plan_.num_draws = g_.num_draws;
  plan_.num_host = g_.num_host;
  placed_.resize(g_.values.size());
  node_step_.assign(g_.nodes.size(), kNone);
  place_sources();
  for (NodeId id : g_.order) {
    const Node& n = g_.node(id);
    if (const OpDef* op = find_op(n.op); op && op->kind() == OpKind::View) {
      place_view(*op, n);
    } else {
      node_step_[static_cast<size_t>(id)] = num_steps_;
      place_node(n, num_steps_++);
    }
  }
  find_lifetimes();
  settle_results();
  reuse_inputs();
  make_blocks();
  for (NodeId id : g_.order) {
    if (node_step_[static_cast<size_t>(id)] == kNone) continue;
    emit(g_.node(id));
    called_at_.resize(plan_.steps.size(), node_step_[static_cast<size_t>(id)]);
  }
  emit_results();
  called_at_.resize(plan_.steps.size(), num_steps_);
  std::vector<PreparedStep> kernels = prepare_steps(plan_);
  for (size_t i = 0; i < kernels.size(); ++i)
    plan_.steps[i].scratch_bytes = static_cast<int64_t>(kernels[i].kernel->scratch_bytes());
  assign_offsets();
  return {std::move(plan_), std::move(kernels)};
}

}  // namespace

Lowered lower(const Graph& graph) { return Lowering(graph).run(); }

}  // namespace hw
