// Preparing and running the kernels of a plan.
#include "chain/chain.h"

#include <chrono>

#include "base/error.h"
#include "base/trace.h"
#include "chain/control.h"
#include "chain/loop.h"
#include "kernels/tuning/tuning.h"

namespace hw {

static size_t rounded(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64 * 64; }

/// "5 of 7 operators: ...".
static std::string note_of(const PlanLoop& loop, const LoopCode& code) {
  if (static_cast<size_t>(code.fused) == loop.body.size()) return {};
  return text(code.fused, " of ", loop.body.size(), " operators in generated code", code.note.empty() ? "" : ": ",
              code.note);
}

static PreparedStep prepare_step(const Plan& plan, const PlanStep& p, std::vector<LoopCode>& code) {
  auto specs = [&](const std::vector<int32_t>& tensors) {
    std::vector<TensorSpec> list;
    for (int32_t t : tensors) list.push_back(t < 0 ? TensorSpec{} : plan.tensors[static_cast<size_t>(t)].spec);
    return list;
  };
  PreparedStep s;
  try {
    if (p.loop >= 0) {
      const PlanLoop& loop = plan.loops[static_cast<size_t>(p.loop)];
      LoopCode& c = code[static_cast<size_t>(p.loop)];
      s.name = c.fused ? "generated" : "tiles";
      s.note = note_of(loop, c);
      s.kernel = prepare_loop(loop, std::move(c));
    } else if (!p.bodies.empty()) {
      s = {prepare_control(plan, p), "plans", {}};
    } else {
      const std::vector<TensorSpec> in = specs(p.inputs), out = specs(p.outputs);
      s.kernel = prepare_fastest({p.op, in, out, p.attrs, p.compute}, DeviceType::CPU, &s.name);
    }
  } catch (const Error& e) {
    throw Error(e.kind(), text(p.op, ": ", e.message(), " (", plan.origins[static_cast<size_t>(p.origin)], ")"));
  }
  return s;
}

std::vector<PreparedStep> prepare_steps(const Plan& plan) {
  std::vector<PreparedStep> list;
  std::vector<LoopCode> code = make_loop_code(plan.loops);
  for (const PlanStep& p : plan.steps) list.push_back(prepare_step(plan, p, code));
  return list;
}

Chain::Chain(Plan plan, std::vector<PreparedStep> kernels) : plan_(std::move(plan)) {
  arena_bytes_ = rounded(plan_.arena_bytes);
  steps_.resize(plan_.steps.size());
  if (kernels.empty()) kernels = prepare_steps(plan_);
  for (size_t i = 0; i < steps_.size(); ++i) add_step(i, std::move(kernels[i]));
}

Chain::~Chain() = default;

uint32_t Chain::add_pointer(int32_t tensor) {
  uint32_t at = static_cast<uint32_t>(pointers_.size());
  pointers_.push_back(nullptr);
  if (tensor < 0) return at;
  const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
  const PlanBuffer& b = plan_.buffers[static_cast<size_t>(t.buffer)];
  if (b.kind == PlanBuffer::Kind::Constant)
    pointers_.back() = static_cast<char*>(plan_.constants[static_cast<size_t>(b.index)].data()) + t.offset;
  else
    places_.push_back({at, b.kind, b.index, b.offset + t.offset});
  return at;
}

void Chain::add_step(size_t i, PreparedStep prepared) {
  const PlanStep& p = plan_.steps[i];
  Step& s = steps_[i];
  s.first_input = static_cast<uint32_t>(pointers_.size());
  s.num_inputs = static_cast<uint32_t>(p.inputs.size());
  for (int32_t t : p.inputs) add_pointer(t);
  s.first_output = static_cast<uint32_t>(pointers_.size());
  for (int32_t t : p.outputs) add_pointer(t);
  s.attrs = p.attrs;
  s.kernel = std::move(prepared.kernel);
  s.kernel_name = std::move(prepared.name);
  s.note = std::move(prepared.note);
  const size_t wanted = rounded(static_cast<int64_t>(s.kernel->scratch_bytes()));
  const bool fits = wanted <= rounded(p.scratch_bytes);
  s.scratch = fits ? static_cast<size_t>(p.scratch_offset) : arena_bytes_;
  if (!fits) scratch_bytes_ = std::max(scratch_bytes_, wanted);
}

void Chain::resolve(const ChainInputs& in, char* memory) {
  const bool moved = memory != resolved_for_;
  for (const Place& p : places_) {
    if (p.kind == PlanBuffer::Kind::Arena) {
      if (moved) pointers_[p.at] = memory + p.offset;
      continue;
    }
    const size_t index = static_cast<size_t>(p.index);
    auto* base = p.kind == PlanBuffer::Kind::Source ? const_cast<void*>(in.sources[index]) : in.outputs[index];
    pointers_[p.at] = static_cast<char*>(base) + p.offset;
  }
  resolved_for_ = memory;
}

static AttrValue number_as(AttrValue::Kind kind, double v) {
  if (kind == AttrValue::Kind::Bool) return AttrValue(v != 0);
  if (kind == AttrValue::Kind::Int) return AttrValue(static_cast<int64_t>(v));
  return AttrValue(v);
}

void Chain::bind_attrs(const ChainInputs& in) {
  for (size_t i = 0; i < steps_.size(); ++i)
    for (const AttrBinding& b : plan_.steps[i].bindings) {
      AttrValue& a = steps_[i].attrs[static_cast<size_t>(b.attr)];
      if (b.kind == AttrBinding::Kind::Seed)
        a = static_cast<int64_t>(in.seed);
      else if (b.kind == AttrBinding::Kind::Draw)
        a = static_cast<int64_t>(in.first_draw + static_cast<uint64_t>(b.index));
      else
        a = number_as(a.kind(), in.host[static_cast<size_t>(b.index)]);
    }
}

void Chain::launch(size_t i, char* memory) {
  const Step& s = steps_[i];
  LaunchStatus status;
  s.kernel->run(
      {pointers_.data() + s.first_input, pointers_.data() + s.first_output, memory + s.scratch, &s.attrs, &status});
  if (status.failed) [[unlikely]]
    complain(i, status.message);
}

void Chain::complain(size_t i, const char* message) const {
  const PlanStep& p = plan_.steps[i];
  constexpr std::string_view kRuntime = "RuntimeError: ";  // as in eager mode
  std::string_view what = message;
  ErrorKind kind = what.starts_with("ZeroDivisionError") ? ErrorKind::Runtime : ErrorKind::Index;
  if (what.starts_with(kRuntime)) {
    kind = ErrorKind::Runtime;
    what.remove_prefix(kRuntime.size());
  }
  fail(kind, p.op, ": ", what, " (", plan_.origins[static_cast<size_t>(p.origin)], ")");
}

void Chain::run(const ChainInputs& in, void* memory) {
  resolve(in, static_cast<char*>(memory));
  if (plan_.num_draws || plan_.num_host) bind_attrs(in);
  if (tracing()) [[unlikely]]
    return run_traced(static_cast<char*>(memory));
  for (size_t i = 0; i < steps_.size(); ++i) launch(i, static_cast<char*>(memory));
}

/// "linear", or of a loop "loop(mul, add)".
static std::string label_of(const Plan& plan, const PlanStep& step) {
  if (step.loop < 0) return step.op;
  std::string out;
  for (const PlanStep& s : plan.loops[static_cast<size_t>(step.loop)].body) out += text(out.empty() ? "" : ", ", s.op);
  return text("loop(", out, ")");
}

static std::string operands_of(const Plan& plan, const PlanStep& step) {
  std::string out;
  for (int32_t t : step.inputs)
    out += text(out.empty() ? "" : ", ", t < 0 ? "None" : text(plan.tensors[static_cast<size_t>(t)].spec));
  return out;
}

void Chain::run_traced(char* memory) {
  TraceScope program(TraceEvent::Kind::Program, plan_.name);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& s = steps_[i];
    const PlanStep& p = plan_.steps[i];
    if (s.label.empty()) {
      s.label = label_of(plan_, p);
      s.operands = operands_of(plan_, p);
    }
    TraceScope step(TraceEvent::Kind::Step);
    launch(i, memory);
    TraceEvent* e = step.event();
    if (!e) continue;
    e->end = trace_now();
    e->name = s.label;
    e->detail = text(s.kernel_name, ": ", s.operands);
    e->origin = plan_.origins[static_cast<size_t>(p.origin)];
    e->number = static_cast<int64_t>(i);
  }
}

std::vector<int64_t> Chain::run_timed(const ChainInputs& in, void* memory) {
  resolve(in, static_cast<char*>(memory));
  bind_attrs(in);
  std::vector<int64_t> times(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto start = std::chrono::steady_clock::now();
    launch(i, static_cast<char*>(memory));
    times[i] = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  }
  return times;
}

}  // namespace hw
