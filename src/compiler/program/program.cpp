// Running a compiled function.
#include "compiler/program/program.h"

#include <algorithm>

#include "autograd/mode.h"
#include "autograd/node.h"
#include "base/error.h"
#include "compiler/program/plan_for.h"
#include "core/allocator.h"
#include "core/generator.h"
#include "core/read_guard.h"
#include "eager/global/exchange.h"
#include "eager/global/global_tensor.h"

namespace hw {

Workspace::~Workspace() { release(); }

static constexpr size_t kLargeArena = size_t{16} << 20;

void* Workspace::at_least(size_t bytes) {
  if (bytes > bytes_ || !data_) {
    release();
    // What eager code left in the cache does not serve an arena: it would stay resident beside it.
    if (bytes >= kLargeArena) empty_cache();
    data_ = allocate(std::max<size_t>(bytes, 64));
    bytes_ = bytes;
  }
  return data_;
}

void Workspace::release() {
  if (data_) deallocate(data_, std::max<size_t>(bytes_, 64));
  data_ = nullptr;
  bytes_ = 0;
}

/// The argument that a stand-in stood for, or -1.
static int32_t input_of(const Capture& capture, const Tensor& leaf) {
  const Tensors& all = capture.stand_ins();
  const auto found = std::find(all.begin(), all.end(), leaf);
  return found == all.end() ? -1 : static_cast<int32_t>(found - all.begin());
}

/// What is an argument, a gradient, or state.
static ProgramSource source_of(const Capture& capture, int32_t input, int32_t gradient, const Tensor& state) {
  ProgramSource s;
  if (input != kNone) {
    s.input = input;
  } else if (gradient != kNone) {
    const Tensor& leaf = capture.gradients()[static_cast<size_t>(gradient)].leaf;
    s.grad_of_input = input_of(capture, leaf);
    if (s.grad_of_input < 0) s.leaf = leaf;
  } else {
    s.tensor = state;
  }
  return s;
}

ProgramParts parts_of(const Capture& capture, Capture::Outputs outputs) {
  ProgramParts parts;
  parts.graph = capture.graph();
  for (const Capture::Whole& w : capture.wholes())
    parts.wholes.push_back({source_of(capture, w.input, w.gradient, w.tensor), w.place, w.tensor.spec(), w.written});
  for (size_t i = 0; i < parts.graph.sources.size(); ++i) {
    const Capture::SourceNote& note = capture.source_notes()[i];
    if (note.whole != kNone)
      parts.sources.push_back(parts.wholes[static_cast<size_t>(note.whole)].of);
    else
      parts.sources.push_back(
          source_of(capture, note.input, capture.source_gradients()[i], capture.source_tensors()[i]));
    parts.sources.back().part = note.part;
  }
  parts.stand_ins = capture.stand_ins();
  parts.outputs = std::move(outputs.values);
  parts.returned = std::move(outputs.returned);
  parts.gradients = capture.gradients();
  parts.flags = capture.flags();
  parts.aliases = capture.aliases();
  return parts;
}

Ref<Once> Workspace::once_for(Plan plan, std::vector<PreparedStep> kernels, std::vector<ProgramSource> sources) {
  for (const Ref<Once>& o : once_)
    if (o->same(plan, sources)) return o;
  std::erase_if(once_, [](const Ref<Once>& o) { return o->use_count() == 1; });  // of programs that are gone
  return once_.emplace_back(make_ref<Once>(std::move(plan), std::move(kernels), std::move(sources)));
}

Chain Program::planned(const ProgramParts& parts, const PipelineOptions& options) {
  ProgramPlan made = plan_for(parts.graph, options);
  passes_ = std::move(made.passes);
  from_cache_ = made.from_cache;
  cache_note_ = std::move(made.note);
  if (made.once) {
    std::vector<ProgramSource> sources;
    for (int32_t s : made.once_sources) sources.push_back(parts.sources[static_cast<size_t>(s)]);
    once_ = workspace_->once_for(std::move(*made.once), std::move(made.once_kernels), std::move(sources));
  }
  return Chain(std::move(made.plan), std::move(made.kernels));
}

Program::Program(const ProgramParts& parts, Ref<Workspace> workspace, const PipelineOptions& options)
    : outputs_(parts.outputs),
      returned_(parts.returned),
      wholes_(parts.wholes),
      flags_(parts.flags),
      aliases_(parts.aliases),
      workspace_(std::move(workspace)),
      chain_(planned(parts, options)) {
  const Graph& graph = parts.graph;
  pass_options_ = options.pass;
  if (options.keep_graph) captured_ = std::make_unique<const Graph>(graph);
  std::vector<int32_t> plan_source(graph.sources.size(), kNone);
  for (size_t i = 0; i < graph.sources.size(); ++i) {
    if (graph.sources[i].kind == GraphSource::Kind::Constant) continue;
    plan_source[i] = static_cast<int32_t>(sources_.size());
    sources_.push_back(parts.sources[i]);
  }
  std::vector<int32_t> output_result, gradient_result;
  int32_t result = 0;
  for (const GraphResult& r : graph.results) {
    if (r.kind == GraphResult::Kind::Output) output_result.push_back(result++);
    if (r.kind == GraphResult::Kind::Gradient) gradient_result.push_back(result++);
  }
  size_t next = 0;
  for (const Capture::LeafGradient& g : parts.gradients) {
    const auto stand_in = std::find(parts.stand_ins.begin(), parts.stand_ins.end(), g.leaf);
    const bool argument = stand_in != parts.stand_ins.end();
    if (g.read && !argument)  // those of arguments are in the key of the call
      expected_.push_back({g.leaf, g.before.defined(), g.before.defined() ? g.before.spec() : TensorSpec{},
                           g.before.defined() && g.before->global ? global_of(g.before)->place : nullptr});
    if (!g.changed) continue;
    GradientResult entry;
    entry.read = g.read && g.before.defined();
    if (!argument) entry.leaf = g.leaf;
    if (argument) entry.input = static_cast<int32_t>(stand_in - parts.stand_ins.begin());
    entry.place = g.place;
    entry.spec = g.spec;
    if (g.result) {
      entry.result = next < gradient_result.size() ? gradient_result[next] : 0;  // of none, where no rank is hosted
      next += g.place ? g.place->here.size() : 1;
    }
    gradients_.push_back(entry);
  }
  for (const PlanSource& s : plan().sources) writes_ = writes_ || s.written;
  next = 0;
  for (const Capture::Output& o : outputs_) {
    output_sources_.push_back(o.source == kNone ? kNone : plan_source[static_cast<size_t>(o.source)]);
    output_results_.push_back(o.source == kNone ? output_result.at(next++) : kNone);
  }
}

/// The tensor that a source is, or is a part of.
static const Tensor& whole_of(const ProgramSource& s, std::span<const Tensor> inputs) {
  if (s.input >= 0) return inputs[static_cast<size_t>(s.input)];
  if (s.grad_of_input >= 0) return grad_meta(inputs[static_cast<size_t>(s.grad_of_input)])->grad;
  return s.whole_state();
}

const Tensor& Program::source(size_t i, std::span<const Tensor> inputs) const {
  return sources_[i].of(whole_of(sources_[i], inputs));
}

std::string Program::state_problem() const {
  for (const Expected& e : expected_) {
    const GradMeta* m = grad_meta(e.leaf);
    const bool present = m && m->grad.defined();
    if (present != e.present) return present ? "a gradient is there that was None" : "a gradient is None";
    if (present && (m->grad->global ? global_of(m->grad)->place : nullptr) != e.place)
      return "a gradient lies elsewhere on a mesh";
    if (present &&
        (m->grad.shape() != e.spec.shape || m->grad.dtype() != e.spec.dtype || m->grad.strides() != e.spec.strides))
      return "a gradient changed its layout";
  }
  if (std::string why = whole_problem(); !why.empty()) return why;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const ProgramSource& s = sources_[i];
    if (!s.tensor.defined() || s.part >= 0) continue;
    const TensorSpec& want = plan().sources[i].spec;
    if (s.tensor->global) return text("state ", want, " is on a mesh now");
    if (s.tensor.dtype() != want.dtype || s.tensor.shape() != want.shape || s.tensor.strides() != want.strides)
      return text("state ", want, " is now ", s.tensor);
  }
  for (const Capture::Flag& f : flags_)
    if (requires_grad(f.tensor) != f.requires_grad)
      return text("requires_grad of ", f.tensor, " is ", f.requires_grad ? "False" : "True", " now");
  for (const Capture::Alias& a : aliases_)
    if (a.tensor->storage.get() != a.base->storage.get() || a.tensor.offset() - a.base.offset() != a.offset ||
        a.tensor.shape() != a.shape || a.tensor.strides() != a.strides)
      return text("state ", a.tensor, " lies elsewhere now");
  if (!separate_state()) return "two tensors of the state share memory now";
  return {};
}

/// Why a global tensor does not fit any more, or its parts do not.
std::string Program::whole_problem() const {
  for (const ProgramWhole& w : wholes_) {
    if (!w.of.tensor.defined()) continue;  // arguments are in the key of the call
    const Tensor& t = w.of.tensor;
    if (!t->global) return text("state ", w.spec, " is not on a mesh any more");
    if (global_of(t)->place != w.place)
      return text("state ", w.spec, ", ", w.place->value, ", lies as ", global_of(t)->place->value, " now");
    if (t.shape() != w.spec.shape || t.dtype() != w.spec.dtype) return text("state ", w.spec, " is now ", t);
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    const ProgramSource& s = sources_[i];
    if (s.part < 0 || s.input >= 0 || s.grad_of_input >= 0) continue;
    const TensorSpec& want = plan().sources[i].spec;
    const Tensor& part = s.state();
    if (part.dtype() != want.dtype || part.shape() != want.shape || part.strides() != want.strides)
      return text("a part of a global tensor, ", want, ", is now ", part);
  }
  return {};
}

bool Program::state_holds() const { return state_problem().empty(); }

/// The sources that are state were different memory when they were captured; `x.data = y` may change that.
bool Program::separate_state() const {
  bool moved = memories_.empty();
  memories_.resize(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const ProgramSource& s = sources_[i];
    const Storage* now = s.tensor.defined() ? s.state()->storage.get() : nullptr;
    moved = std::exchange(memories_[i], now) != now || moved;
  }
  if (!moved) return true;
  std::vector<const Storage*> sorted = memories_;
  std::erase(sorted, nullptr);
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

Tensors Program::state() const {
  Tensors list;
  for (const ProgramSource& s : sources_)
    if (s.tensor.defined()) list.push_back(s.tensor);
  return list;
}

Tensor Program::result_tensor(int32_t result, const std::vector<Ref<Storage>>& memory) const {
  const PlanTensor& t = plan().tensors[static_cast<size_t>(plan().results[static_cast<size_t>(result)])];
  const PlanBuffer& b = plan().buffers[static_cast<size_t>(t.buffer)];
  Tensor made = Tensor::make(memory[static_cast<size_t>(b.index)], t.spec.dtype, t.spec.shape, t.spec.strides,
                             t.offset / dtype_size(t.spec.dtype));
  made->inference = grad_mode().inference;
  return made;
}

void Program::set_gradients(std::span<const Tensor> inputs, const std::vector<Ref<Storage>>& memory) {
  for (const GradientResult& g : gradients_) {
    const Tensor& leaf = g.input >= 0 ? inputs[static_cast<size_t>(g.input)] : g.leaf;
    Tensor made;
    if (g.place) {
      Tensors parts;
      for (size_t r = 0; r < g.place->here.size(); ++r)
        parts.push_back(result_tensor(g.result + static_cast<int32_t>(r), memory));
      made = make_global(g.spec, g.place, std::move(parts));
    } else if (g.result != kNone) {
      made = result_tensor(g.result, memory);
    }
    ensure_grad_meta(leaf).grad = made;
  }
}

/// Gradients that the run replaces without reading them go first: their memory is free for the new ones.
void Program::drop_old_gradients(std::span<const Tensor> inputs) const {
  for (const GradientResult& g : gradients_) {
    if (g.read) continue;
    const Tensor& leaf = g.input >= 0 ? inputs[static_cast<size_t>(g.input)] : g.leaf;
    if (GradMeta* m = grad_meta(leaf)) m->grad = Tensor();
  }
}

/// A program that writes assumes that its sources are different memory, as they were when it was captured.
void Program::check_separate(std::span<const Tensor> inputs) const {
  if (!writes_) return;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].input < 0) continue;
    const Storage* memory = source(i, inputs)->storage.get();
    for (size_t j = 0; j < sources_.size(); ++j)
      check_runtime(j == i || source(j, inputs)->storage.get() != memory || !memory->bytes() ||
                        !(plan().sources[i].written || plan().sources[j].written),
                    "argument ", plan().sources[i].name,
                    " shares memory with another tensor of the compiled function, ",
                    "one of which it writes; clone() it first");
  }
}

/// An output on the memory of a source.
static Tensor shown_as(const Tensor& t, const Capture::Output& o) {
  if (o.itself) return t;
  if (o.dtype == t.dtype()) return t.alias(o.shape, o.strides, t.offset() + o.offset);
  const int64_t bytes = t.offset() * dtype_size(t.dtype()), size = dtype_size(o.dtype);
  check_runtime(bytes % size == 0, "the first element of ", t, " does not lie at a multiple of ", size, " bytes");
  return Tensor::make(t->storage, o.dtype, o.shape, o.strides, bytes / size + o.offset);
}

/// One of the things that the function returns.
Tensor Program::returned(const Capture::Returned& r, std::span<const Tensor> values,
                         std::span<const Tensor> inputs) const {
  if (!r.place) return values[static_cast<size_t>(r.first)];
  if (r.itself) return whole_of(wholes_[static_cast<size_t>(r.whole)].of, inputs);
  const auto parts = values.subspan(static_cast<size_t>(r.first), static_cast<size_t>(r.count));
  Tensor made = make_global(r.spec, r.place, Tensors(parts.begin(), parts.end()));
  if (r.whole != kNone) {  // on the logical memory of what it shows, whose version counts the writes
    const Tensor& whole = whole_of(wholes_[static_cast<size_t>(r.whole)].of, inputs);
    const Ref<GlobalMeta> meta = made->global;
    made = whole.alias(r.spec.shape, r.spec.strides, whole.offset() + r.offset);
    made->global = meta;
  }
  made->inference = grad_mode().inference;
  return made;
}

void Program::launch(const ChainInputs& in, void* work) {
  try {
    if (timing_)
      times_ = chain_.run_timed(in, work);
    else
      chain_.run(in, work);
  } catch (const Error&) {
    rethrow_failed_exchange();  // with the words of eager mode: the first cause of all ranks
    throw;
  }
}

Tensors Program::run(std::span<const Tensor> inputs, std::span<const double> host) {
  check_runtime(static_cast<int32_t>(host.size()) == plan().num_host, "the program needs ", plan().num_host,
                " host numbers, got ", host.size());
  check_separate(inputs);
  drop_old_gradients(inputs);
  std::vector<const void*> addresses(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) addresses[i] = address_for(source(i, inputs), plan().name);
  if (once_)
    for (const Tensor& t : once_->results(*workspace_)) addresses.push_back(t.data());
  std::vector<Ref<Storage>> memory;
  std::vector<void*> outputs;
  for (int64_t bytes : plan().outputs) {
    memory.push_back(make_ref<Storage>(static_cast<size_t>(bytes)));
    outputs.push_back(memory.back()->data());
  }
  ChainInputs in{addresses, outputs, host, 0, 0};
  if (int32_t draws = plan().num_draws) {
    Generator& g = default_generator();
    in.seed = g.seed();
    in.first_draw = g.draws();
    g.set_state(g.seed(), g.draws() + static_cast<uint64_t>(draws));
  }
  void* work = workspace_->at_least(chain_.memory_bytes());
  launch(in, work);
  for (size_t i = 0; i < sources_.size(); ++i)
    if (plan().sources[i].written) source(i, inputs)->storage->bump_version();
  for (const ProgramWhole& w : wholes_)
    if (w.written) whole_of(w.of, inputs)->storage->bump_version();
  set_gradients(inputs, memory);
  Tensors values, result;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (output_sources_[i] == kNone) {
      values.push_back(result_tensor(output_results_[i], memory));
      continue;
    }
    const Tensor& t = source(static_cast<size_t>(output_sources_[i]), inputs);
    const Capture::Output& o = outputs_[i];
    values.push_back(shown_as(t, o));
  }
  for (const Capture::Returned& r : returned_) result.push_back(returned(r, values, inputs));
  return result;
}

void Program::bisect(std::span<const Tensor> inputs, std::span<const double> host,
                     FunctionRef<bool(BisectStage&&)> visit) const {
  check_runtime(captured_ != nullptr, "the graph of the program was not kept");
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < sources_.size(); ++i) tensors.push_back(source(i, inputs));
  const Generator& g = default_generator();
  bisect_stages(*captured_, tensors, {host, g.seed(), g.draws(), false}, passes_on(), pass_options_, visit);
}

std::vector<int64_t> Program::run_timed(std::span<const Tensor> inputs, std::span<const double> host) {
  timing_ = true;
  run(inputs, host);
  timing_ = false;
  return times_;
}

}  // namespace hw
