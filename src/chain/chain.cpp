// Preparing and running the kernels of a plan.
#include "chain/chain.h"

#include <chrono>

#include "base/error.h"
#include "chain/control.h"
#include "chain/loop.h"

namespace hw {

static size_t rounded(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64 * 64; }

Chain::Chain(Plan plan) : plan_(std::move(plan)) {
  arena_bytes_ = rounded(plan_.arena_bytes);
  steps_.resize(plan_.steps.size());
  std::vector<LoopCode> code = make_loop_code(plan_.loops);
  for (size_t i = 0; i < steps_.size(); ++i) prepare_step(i, code);
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

/// "5 of 7 operators: ...".
static std::string note_of(const PlanLoop& loop, const LoopCode& code) {
  if (static_cast<size_t>(code.fused) == loop.body.size()) return {};
  return text(code.fused, " of ", loop.body.size(), " operators in generated code", code.note.empty() ? "" : ": ",
              code.note);
}

void Chain::prepare_step(size_t i, std::vector<LoopCode>& code) {
  const PlanStep& p = plan_.steps[i];
  Step& s = steps_[i];
  std::vector<TensorSpec> in, out;
  s.first_input = static_cast<uint32_t>(pointers_.size());
  s.num_inputs = static_cast<uint32_t>(p.inputs.size());
  for (int32_t t : p.inputs) {
    add_pointer(t);
    in.push_back(t < 0 ? TensorSpec{} : plan_.tensors[static_cast<size_t>(t)].spec);
  }
  s.first_output = static_cast<uint32_t>(pointers_.size());
  for (int32_t t : p.outputs) {
    add_pointer(t);
    out.push_back(plan_.tensors[static_cast<size_t>(t)].spec);
  }
  s.attrs = p.attrs;
  try {
    if (p.loop >= 0) {
      LoopCode& c = code[static_cast<size_t>(p.loop)];
      s.kernel_name = c.fused ? "generated" : "tiles";
      s.note = note_of(plan_.loops[static_cast<size_t>(p.loop)], c);
      s.kernel = prepare_loop(plan_.loops[static_cast<size_t>(p.loop)], std::move(c));
    } else if (!p.bodies.empty()) {
      s.kernel = prepare_control(plan_, p);
      s.kernel_name = "plans";
    } else {
      s.kernel = prepare_kernel({p.op, in, out, s.attrs, p.compute}, DeviceType::CPU, &s.kernel_name);
    }
  } catch (const Error& e) {
    throw Error(e.kind(), text(p.op, ": ", e.message(), " (", plan_.origins[static_cast<size_t>(p.origin)], ")"));
  }
  scratch_bytes_ = std::max(scratch_bytes_, rounded(static_cast<int64_t>(s.kernel->scratch_bytes())));
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

void Chain::launch(size_t i, void* scratch) {
  const Step& s = steps_[i];
  LaunchStatus status;
  s.kernel->run({pointers_.data() + s.first_input, pointers_.data() + s.first_output, scratch, &s.attrs, &status});
  if (status.failed) [[unlikely]]
    complain(i, status.message);
}

void Chain::complain(size_t i, const char* message) const {
  const PlanStep& p = plan_.steps[i];
  bool zero = std::string_view(message).starts_with("ZeroDivisionError");
  fail(zero ? ErrorKind::Runtime : ErrorKind::Index, p.op, ": ", message, " (",
       plan_.origins[static_cast<size_t>(p.origin)], ")");
}

void Chain::run(const ChainInputs& in, void* memory) {
  resolve(in, static_cast<char*>(memory));
  if (plan_.num_draws || plan_.num_host) bind_attrs(in);
  void* scratch = static_cast<char*>(memory) + arena_bytes_;
  for (size_t i = 0; i < steps_.size(); ++i) launch(i, scratch);
}

std::vector<int64_t> Chain::run_timed(const ChainInputs& in, void* memory) {
  resolve(in, static_cast<char*>(memory));
  bind_attrs(in);
  void* scratch = static_cast<char*>(memory) + arena_bytes_;
  std::vector<int64_t> times(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto start = std::chrono::steady_clock::now();
    launch(i, scratch);
    times[i] = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  }
  return times;
}

}  // namespace hw
