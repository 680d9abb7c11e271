// The one oneDNN engine of the process, its instruction set, and running a primitive with reorders around it.
#include "backends/onednn/engine.h"

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

void Program::run(const KernelArgs& args) const {
  match_team();
  auto* scratch = static_cast<char*>(args.scratch);
  std::vector<dnnl::memory> user;
  std::unordered_map<int, dnnl::memory> memories;
  auto data = [&](const Operand& o, int64_t time) {
    auto* base = static_cast<char*>(o.is_input ? const_cast<void*>(args.inputs[o.index]) : args.outputs[o.index]);
    return base + time * o.step;
  };
  for (const Operand& o : operands_) {
    user.emplace_back(o.user, engine(), data(o, 0));
    memories.emplace(o.argument, o.reorder ? dnnl::memory(o.wanted, engine(), scratch + o.offset) : user.back());
  }
  if (scratchpad_.get_size() > 0) memories.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad_, engine(), scratch));
  for (int64_t time = 0; time < times_; ++time) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& o = operands_[i];
      if (time > 0 && o.step == 0) continue;
      if (time > 0) user[i].set_data_handle(data(o, time));
      if (o.reorder && o.is_input) o.reorder.execute(stream_, user[i], memories.at(o.argument));
    }
    primitive_.execute(stream_, memories);
    for (size_t i = 0; i < operands_.size(); ++i)
      if (const Operand& o = operands_[i]; o.reorder && !o.is_input)
        o.reorder.execute(stream_, memories.at(o.argument), user[i]);
  }
}

}  // namespace hw::onednn
