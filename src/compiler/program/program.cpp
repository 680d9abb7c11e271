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
  int32_t inputs = 0;
  for (const GraphSource& s : capture.graph().sources)
    if (s.kind == GraphSource::Kind::Input && capture.input_stand_in(inputs++) == leaf) return inputs - 1;
  return -1;
}

ProgramParts parts_of(const Capture& capture, std::vector<Capture::Output> outputs) {
  ProgramParts parts;
  parts.graph = capture.graph();
  int32_t inputs = 0;
  for (size_t i = 0; i < parts.graph.sources.size(); ++i) {
    ProgramSource s;
    if (parts.graph.sources[i].kind == GraphSource::Kind::Input) {
      parts.stand_ins.push_back(capture.input_stand_in(inputs));
      s.input = inputs++;
    } else if (int32_t g = capture.source_gradients()[i]; g != kNone) {
      const Tensor& leaf = capture.gradients()[static_cast<size_t>(g)].leaf;
      s.grad_of_input = input_of(capture, leaf);
      if (s.grad_of_input < 0) s.leaf = leaf;
    } else {
      s.tensor = capture.source_tensors()[i];
    }
    parts.sources.push_back(std::move(s));
  }
  parts.outputs = std::move(outputs);
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
      expected_.push_back({g.leaf, g.before.defined(), g.before.defined() ? g.before.spec() : TensorSpec{}});
    if (!g.changed) continue;
    GradientResult entry;
    entry.read = g.read && g.before.defined();
    if (!argument) entry.leaf = g.leaf;
    if (argument) entry.input = static_cast<int32_t>(stand_in - parts.stand_ins.begin());
    if (g.result) entry.result = gradient_result.at(next++);
    gradients_.push_back(entry);
  }
  for (const PlanSource& s : plan().sources) writes_ = writes_ || s.written;
  next = 0;
  for (const Capture::Output& o : outputs_) {
    output_sources_.push_back(o.source == kNone ? kNone : plan_source[static_cast<size_t>(o.source)]);
    output_results_.push_back(o.source == kNone ? output_result.at(next++) : kNone);
  }
}

const Tensor& Program::source(size_t i, std::span<const Tensor> inputs) const {
  const ProgramSource& s = sources_[i];
  if (s.input >= 0) return inputs[static_cast<size_t>(s.input)];
  if (s.grad_of_input >= 0) return grad_meta(inputs[static_cast<size_t>(s.grad_of_input)])->grad;
  return s.state();
}

std::string Program::state_problem() const {
  for (const Expected& e : expected_) {
    const GradMeta* m = grad_meta(e.leaf);
    const bool present = m && m->grad.defined();
    if (present != e.present) return present ? "a gradient is there that was None" : "a gradient is None";
    if (present &&
        (m->grad.shape() != e.spec.shape || m->grad.dtype() != e.spec.dtype || m->grad.strides() != e.spec.strides))
      return "a gradient changed its layout";
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    const ProgramSource& s = sources_[i];
    if (!s.tensor.defined()) continue;
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

bool Program::state_holds() const { return state_problem().empty(); }

/// The sources that are state were different memory when they were captured; `x.data = y` may change that.
bool Program::separate_state() const {
  bool moved = memories_.empty();
  memories_.resize(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Tensor& t = sources_[i].tensor;
    const Storage* now = t.defined() ? t->storage.get() : nullptr;
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
    ensure_grad_meta(leaf).grad = g.result == kNone ? Tensor() : result_tensor(g.result, memory);
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
  if (timing_)
    times_ = chain_.run_timed(in, work);
  else
    chain_.run(in, work);
  for (size_t i = 0; i < sources_.size(); ++i)
    if (plan().sources[i].written) source(i, inputs)->storage->bump_version();
  set_gradients(inputs, memory);
  Tensors result;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (output_sources_[i] == kNone) {
      result.push_back(result_tensor(output_results_[i], memory));
      continue;
    }
    const Tensor& t = source(static_cast<size_t>(output_sources_[i]), inputs);
    const Capture::Output& o = outputs_[i];
    result.push_back(shown_as(t, o));
  }
  return result;
}

std::vector<BisectStage> Program::bisect(std::span<const Tensor> inputs, std::span<const double> host) const {
  check_runtime(captured_ != nullptr, "the graph of the program was not kept");
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < sources_.size(); ++i) tensors.push_back(source(i, inputs));
  const Generator& g = default_generator();
  return bisect_stages(*captured_, tensors, {host, g.seed(), g.draws(), false}, passes_on(), pass_options_);
}

std::vector<int64_t> Program::run_timed(std::span<const Tensor> inputs, std::span<const double> host) {
  timing_ = true;
  run(inputs, host);
  timing_ = false;
  return times_;
}

}  // namespace hw
