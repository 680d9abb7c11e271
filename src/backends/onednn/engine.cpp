// The one oneDNN engine of the process, its instruction set, and running a primitive with reorders around it.
#include "backends/onednn/engine.h"

#include <array>
#include <span>

#include <omp.h>

#include "base/thread_team.h"
#include "kernels/isa.h"

namespace hw::onednn {
namespace {

dnnl::cpu_isa limit(Isa isa) {
  if (isa == Isa::AVX2) return dnnl::cpu_isa::avx2;
  return isa == Isa::Scalar ? dnnl::cpu_isa::sse41 : dnnl::cpu_isa::isa_default;
}

struct Started {
  Isa level = isa();
  dnnl::engine engine;
  Started() {
    // Only a lowered instruction set is passed on: the default includes AMX and what else the machine has.
    if (level != isa_found()) dnnl::set_max_cpu_isa(limit(level));
    engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
  }
};

Started& started() {
  static Started s;
  return s;
}

size_t round64(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

dnnl::engine& engine() { return started().engine; }

bool usable(std::string& why_not) {
  if (isa() == Isa::Scalar) {
    why_not = "the scalar instruction set was asked for";
    return false;
  }
  if (static_cast<int>(isa()) < static_cast<int>(started().level)) {
    why_not = "the instruction set was lowered after oneDNN had started";
    return false;
  }
  return true;
}

void match_team() {
  if (int n = num_threads(); omp_get_max_threads() != n) omp_set_num_threads(n);
}

dnnl::memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::F32: return dnnl::memory::data_type::f32;
    case DType::BF16: return dnnl::memory::data_type::bf16;
    case DType::F16: return dnnl::memory::data_type::f16;
    default: return dnnl::memory::data_type::undef;
  }
}

dnnl::memory::desc describe(const TensorSpec& spec) {
  return {dnnl::memory::dims(spec.shape.begin(), spec.shape.end()), data_type(spec.dtype),
          dnnl::memory::dims(spec.strides.begin(), spec.strides.end())};
}

bool plain(const TensorSpec& spec) { return spec.numel() > 0 && is_non_overlapping(spec.shape, spec.strides); }

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Program::Program(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad)
    : primitive_(std::move(primitive)), scratchpad_(scratchpad), stream_(engine()) {
  bytes_ = round64(scratchpad_.get_size());
}

void Program::input(int argument, int index, const dnnl::memory::desc& user, const dnnl::memory::desc& wanted) {
  add({argument, index, true, user, wanted, {}, 0, 0});
}

void Program::output(int argument, int index, const dnnl::memory::desc& user, const dnnl::memory::desc& wanted) {
  add({argument, index, false, user, wanted, {}, 0, 0});
}

void Program::add(Operand operand) {
  if (operand.user != operand.wanted) {
    const auto &from = operand.is_input ? operand.user : operand.wanted,
               &to = operand.is_input ? operand.wanted : operand.user;
    operand.reorder = dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to));
    operand.offset = bytes_;
    bytes_ += round64(operand.wanted.get_size());
  }
  operands_.push_back(std::move(operand));
}

Program::Call Program::make_call() const {
  Call call;
  for (const Operand& o : operands_) {
    call.user.emplace_back(o.user, engine(), nullptr);
    call.wanted.push_back(o.reorder ? dnnl::memory(o.wanted, engine(), nullptr) : call.user.back());
    call.arguments.push_back({o.argument, call.wanted.back().get()});
  }
  if (scratchpad_.get_size() > 0) {
    call.scratchpad = dnnl::memory(scratchpad_, engine(), nullptr);
    call.arguments.push_back({DNNL_ARG_SCRATCHPAD, call.scratchpad.get()});
  }
  return call;
}

/// The C function: the C++ one makes a vector of the arguments, and throws.
static bool execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                    std::span<const dnnl_exec_arg_t> arguments) {
  return dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data()) ==
         dnnl_success;
}

static std::array<dnnl_exec_arg_t, 2> reordering(const dnnl::memory& from, const dnnl::memory& to) {
  return {{{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}}};
}

static void place(const dnnl::memory& memory, void* data) { dnnl_memory_set_data_handle(memory.get(), data); }

void Program::run(const KernelArgs& args, const Call& call) const {
  match_team();
  auto* scratch = static_cast<char*>(args.scratch);
  auto data = [&](const Operand& o, int64_t time) {
    auto* base = static_cast<char*>(o.is_input ? const_cast<void*>(args.inputs[o.index]) : args.outputs[o.index]);
    return base + time * o.step;
  };
  for (size_t i = 0; i < operands_.size(); ++i)
    if (operands_[i].reorder) place(call.wanted[i], scratch + operands_[i].offset);
  if (call.scratchpad) place(call.scratchpad, scratch);
  bool done = true;
  for (int64_t time = 0; time < times_; ++time) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& o = operands_[i];
      if (time > 0 && o.step == 0) continue;
      place(call.user[i], data(o, time));
      if (o.reorder && o.is_input) done &= execute(o.reorder, stream_, reordering(call.user[i], call.wanted[i]));
    }
    done &= execute(primitive_, stream_, call.arguments);
    for (size_t i = 0; i < operands_.size(); ++i)
      if (const Operand& o = operands_[i]; o.reorder && !o.is_input)
        done &= execute(o.reorder, stream_, reordering(call.wanted[i], call.user[i]));
  }
  if (!done) args.status->report("RuntimeError: oneDNN could not run this");
}

void ProgramKernel::run(const KernelArgs& args) const {
  if (busy_.test_and_set(std::memory_order_acquire)) {
    program_.run(args, program_.make_call());
    return;
  }
  program_.run(args, call_);
  busy_.clear(std::memory_order_release);
}

}  // namespace hw::onednn
