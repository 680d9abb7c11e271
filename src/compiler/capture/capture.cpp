// The capturing interpreter: operators become nodes, storages remember the value they hold.
#include "compiler/capture/capture.h"

#include "autograd/mode.h"
#include "autograd/node.h"
#include "autograd/record.h"
#include "base/error.h"
#include "core/generator.h"
#include "core/read_guard.h"
#include "eager/infer.h"

namespace hw {

static thread_local Capture* t_capture = nullptr;
Capture* current_capture() noexcept { return t_capture; }

static constexpr const char* kRefusal =
    "which is not known while hw.compile captures the function. Move it out of the compiled function, return the "
    "tensor "
    "and read it outside, or use hw.where, hw.cond or hw.while_loop";

Capture::Capture(std::string name, Capture* parent) : parent_(parent) { graph_.name = std::move(name); }
Capture::~Capture() {
  if (active_) leave();
}

void Capture::enter() {
  if (t_capture != parent_) bug("a capture is active on this thread already");
  resume();
}

void Capture::resume() {
  for (Raised& r : raised_) r.before += r.storage->version() - r.paused;  // these writes took place
  active_ = true;
  capture_before_ = std::exchange(t_capture, this);
  interpreter_before_ = set_thread_interpreter(this);
  journal_before_ = std::exchange(t_grad_journal, this);
  recorder_before_ = std::exchange(t_local_recorder, this);
  refusal_before_ = set_read_refusal({kRefusal, &Capture::known});
  anomaly_before_ = std::exchange(t_grad_mode.anomaly, false);
}

void Capture::pause() {
  for (Raised& r : raised_) r.paused = r.storage->version();
  active_ = false;
  t_capture = capture_before_;
  set_thread_interpreter(interpreter_before_);
  t_grad_journal = journal_before_;
  t_local_recorder = recorder_before_;
  set_read_refusal(refusal_before_);
  t_grad_mode.anomaly = anomaly_before_;
}

void Capture::leave() {
  pause();
  for (LeafGradient& g : gradients_) {
    GradMeta& m = ensure_grad_meta(g.leaf);
    g.after = g.written ? std::exchange(m.grad, g.before) : m.grad;
  }
  restore_history();
  for (Whole& w : wholes_) {
    w.written = w.tensor.version() != w.version;
    w.tensor->storage->restore_version(w.version);
  }
  for (const Raised& r : raised_) r.storage->restore_version(r.before);
  raised_.clear();
}

Capture::Geometry Capture::geometry_of(const Tensor& t) { return {t.shape(), t.strides(), t.offset(), t.dtype()}; }

int32_t Capture::origin() {
  check_runtime(graph_.order.size() < node_limit_, "hw.compile: the number of operators depends on a size");
  return graph_.add_origin(origin_text());
}

Tensor Capture::add_input(const Tensor& given, std::string name, const Dims& shape) {
  if (given->global) return add_global_input(given, name);
  TensorSpec spec = given.spec();
  if (shape != spec.shape) {
    check_runtime(given.contiguous(), "argument ", name, ", ", given, ", must be contiguous where its size changes");
    spec.shape = shape;
    spec.strides = contiguous_strides(shape);
  }
  spec.wrapped = false;
  argument_storages_.try_emplace(given->storage.get(), static_cast<int32_t>(graph_.sources.size()));
  Tensor stand_in = abstract_tensor(spec);
  add_source_memory(stand_in, GraphSource::Kind::Input, std::move(name));
  if (parent_) input_given_.back() = given;
  source_tensors_.back() = Tensor();  // another one in each run
  source_notes_.back().input = static_cast<int32_t>(stand_ins_.size());
  take_given(given, stand_in);
  return stand_in;
}

void Capture::take_given(const Tensor& given, const Tensor& stand_in) {
  if (requires_grad(given)) {
    set_requires_grad(stand_in, true);
    if (is_leaf(given)) ensure_grad_meta(stand_in).grad = grad_meta(given)->grad;
  }
  stand_in->inference = given->inference;
  stand_ins_.push_back(stand_in);
  given_.push_back(given);
}

bool Capture::is_constant(const Memory& m) const {
  return m.source != kNone && graph_.sources[static_cast<size_t>(m.source)].kind == GraphSource::Kind::Constant;
}

/// Numbers of the user's code, and tensors made of them, as long as nothing was written to them.
bool Capture::known(const Tensor& t) {
  const Capture* c = current_capture();
  if (!c || is_abstract(t)) return false;
  if (!t->wrapped && !c->noted_constants_.count(t->storage.get())) return false;
  auto it = c->memories_.find(t->storage.get());
  return it == c->memories_.end() || !it->second.written;
}

void Capture::note_constant(const Tensor& t) {
  noted_constants_[t->storage.get()] = true;
  kept_.push_back(t);
}

int32_t Capture::add_host(int32_t count) {
  graph_.num_host += count;
  return graph_.num_host - count;
}

Capture::Memory& Capture::add_source_memory(const Tensor& t, GraphSource::Kind kind, std::string name) {
  Memory m;
  m.base = t;
  m.source = static_cast<int32_t>(graph_.sources.size());
  m.value = graph_.add_source(kind, t.spec(), std::move(name), kind == GraphSource::Kind::Constant ? t : Tensor());
  m.shown.push_back({geometry_of(t), m.value});
  source_tensors_.push_back(kind == GraphSource::Kind::Constant ? Tensor() : t);
  source_gradients_.push_back(kNone);
  source_notes_.emplace_back();
  input_given_.emplace_back();
  return memories_[t->storage.get()] = std::move(m);
}

/// A real tensor met for the first time: a number, a constant made on the way, or state.
Capture::Memory& Capture::memory_of(const Tensor& t) {
  check_runtime(
      !t->global, "a global tensor, ", t,
      ", is used inside hw.compile where only ordinary ones can be, as in hw.while_loop; take it whole first, "
      "with full()");
  Storage* s = t->storage.get();
  if (auto it = memories_.find(s); it != memories_.end()) return it->second;
  if (parent_ && !noted_constants_.count(s) && !(t->wrapped && !is_abstract(t))) return lift(t);
  check_runtime(!is_abstract(t), "a value of another, finished capture is used: ", t);
  if (auto it = argument_storages_.find(s); it != argument_storages_.end())
    fail(ErrorKind::Runtime, "the function reads by itself a tensor, ", t, ", that shares memory with its argument ",
         graph_.sources[static_cast<size_t>(it->second)].name, "; use the argument");
  const bool made_here = t->wrapped || !t->wrapper || noted_constants_.count(s);
  if (!made_here) {
    asking(t);
    return add_source_memory(t, GraphSource::Kind::State, "");
  }
  if (t->storage->bytes() < t.nbytes())  // one value shown many times: the storage is the source
    return add_source_memory(t.alias({static_cast<int64_t>(t->storage->bytes()) / dtype_size(t.dtype())}, {1}, 0),
                             GraphSource::Kind::Constant, "");
  Tensor copy = t->storage->bytes() == t.nbytes() ? t.alias() : t;
  copy->wrapped = t->wrapped;
  return add_source_memory(copy, GraphSource::Kind::Constant, "");
}

/// Python numbers: one constant per dtype and value.
int32_t Capture::constant_of(const Tensor& t) {
  std::string key = text(t.dtype(), load_scalar(t.data(), t.dtype()), t->wrapped ? "w" : "");
  auto [it, fresh] = constants_.try_emplace(key, kNone);
  if (fresh) it->second = add_source_memory(t, GraphSource::Kind::Constant, "").value;
  noted_constants_[t->storage.get()] = true;
  kept_.push_back(t);
  return it->second;
}

ValueId Capture::value_of(const Tensor& t) {
  if (!t.defined()) return kNone;
  if (t->wrapped && t.ndim() == 0 && !is_abstract(t) && !memories_.count(t->storage.get())) return constant_of(t);
  Memory& m = memory_of(t);
  if (m.source != kNone && !(t == m.base)) note_alias(t, m);
  Geometry g = geometry_of(t);
  for (const Shown& s : m.shown)
    if (s.geometry == g) return s.value;
  check_runtime(g.dtype == m.base.dtype(), "memory of ", m.base, " is read as ", t.dtype(),
                " after it was written; write to the tensor that was viewed with another dtype outside");
  check_runtime(t.offset() >= m.base.offset(), "two tensors of one memory are used, ", m.base, " and ", t,
                "; use views of one of them");
  // A node `as_strided` on what the memory holds now. Its own check refuses what lies outside of the base.
  static const Op as_strided{"as_strided"};
  Attrs attrs{AttrValue(g.shape), AttrValue(g.strides), AttrValue(g.offset - m.base.offset())};
  TensorSpec base = m.base.spec();
  explained(as_strided.def(), {&base, 1}, attrs, [&] { return as_strided.def().view_rule()(base, attrs); });
  ValueId v = graph_.add("as_strided", {m.value}, std::move(attrs), t.spec(), origin());
  m.shown.push_back({g, v});
  return v;
}

void Capture::write(const Tensor& t, ValueId value) {
  value_of(t);
  Memory& m = memory_of(t);
  if (m.source != kNone && !m.written) raised_.push_back({t->storage, t.version(), t.version()});
  Geometry g = geometry_of(t), base = geometry_of(m.base);
  if (g == base) {
    m.value = value;
  } else {
    check_runtime(g.dtype == base.dtype, "memory of ", m.base, " is written as ", t.dtype(),
                  " inside a compiled function; write to it with its own dtype");
    Attrs attrs{AttrValue(g.shape), AttrValue(g.strides), AttrValue(g.offset - base.offset)};
    m.value = graph_.add("_write_view", {m.value, value}, std::move(attrs), m.base.spec(), origin());
  }
  m.written = true;
  m.shown.clear();
  m.shown.push_back({base, m.value});
  if (!(g == base)) m.shown.push_back({g, value});
}

void Capture::execute(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  if (!on_ranks(op, in, attrs, out)) local(op, in, attrs, out);
}

void Capture::local(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  std::vector<TensorSpec> specs = specs_of(in);
  Inferred made = explained(op, specs, attrs, [&] { return infer_call(op, specs, attrs, out); });
  std::vector<ValueId> inputs(in.size());
  for (size_t i = 0; i < in.size(); ++i) inputs[i] = value_of(in[i]);
  for (TensorSpec& s : made.outputs) s.wrapped = false;
  NodeId n = graph_.make_node(op.name(), std::move(inputs), attrs, made.outputs, origin());
  graph_.order.push_back(n);
  Node& node = graph_.node(n);
  if (op.is_random()) {
    node.bindings.push_back({op.attr_index("seed"), AttrBinding::Kind::Seed, 0});
    node.bindings.push_back({op.attr_index("draw"), AttrBinding::Kind::Draw, pending_draw_});
  } else if (pending_host_ != kNone && op.has_dynamic_attrs()) {
    for (size_t i = 0; i < op.attrs().size(); ++i)
      if (op.attrs()[i].dynamic)
        node.bindings.push_back(
            {static_cast<int32_t>(i), AttrBinding::Kind::Host, pending_host_ + static_cast<int32_t>(i)});
  }
  std::vector<ValueId> outputs = node.outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) {
      write(out[i], outputs[i]);
      continue;
    }
    out[i] = abstract_tensor(graph_.spec(outputs[i]));
    Memory m;
    m.base = out[i];
    m.value = outputs[i];
    m.origin = graph_.node(n).origin;
    m.shown.push_back({geometry_of(out[i]), m.value});
    memories_[out[i]->storage.get()] = std::move(m);
  }
}

void Capture::viewed(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor& view) {
  if (!in[0]->global) local_view(op, in, attrs, view);  // else the views of its parts were written down
}

void Capture::local_view(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor& view) {
  ValueId x = value_of(in[0]);
  Memory& m = memory_of(in[0]);
  if (m.source != kNone) views_.insert(view.body());
  Geometry g = geometry_of(view);
  for (const Shown& s : m.shown)
    if (s.geometry == g) return;
  ValueId v = graph_.add(op.name(), {x}, attrs, view.spec(), origin());
  m.shown.push_back({g, v});
}

Attrs Capture::with_draw(const OpDef& op, const Attrs& attrs) {
  check_runtime(&current_generator() == &default_generator(), op.name(),
                ": generator= cannot be used inside a compiled function; seed the default generator");
  check_runtime(!parent_, op.name(),
                ": random numbers are not drawn inside hw.cond and hw.while_loop; draw them before, in the "
                "compiled function, and pass them in");
  pending_draw_ = graph_.num_draws++;
  Attrs filled = attrs;
  filled[static_cast<size_t>(op.attr_index("seed"))] = int64_t{0};
  filled[static_cast<size_t>(op.attr_index("draw"))] = int64_t{pending_draw_};
  return filled;
}

}  // namespace hw
