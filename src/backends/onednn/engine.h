// The oneDNN engine of the process, and the pieces that every kernel over it needs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/kernel.h"

namespace hw::onednn {

dnnl::engine& engine();

/// Whether oneDNN may be used at all now: its instruction set is fixed when it starts and must not exceed isa().
bool usable(std::string& why_not);

/// The OpenMP team of the calling thread gets num_threads() threads, which is what oneDNN reads.
void match_team();

/// oneDNN's name for a dtype; undef for those it has no floating arithmetic for.
dnnl::memory::data_type data_type(DType dtype);

/// The tensor as oneDNN sees it: sizes and strides.
dnnl::memory::desc describe(const TensorSpec& spec);
/// Neither expanded nor empty: what oneDNN can read where it is.
bool plain(const TensorSpec& spec);

/// A primitive with its operands, some of which are reordered to and from the layout it prefers. Built once in prepare().
class Program {
 public:
  explicit Program(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);
  /// Operand `argument` comes from (or goes to) args.inputs[index] or args.outputs[index] in layout `user`; the primitive wants
  /// `wanted`.
  void input(int argument, int index, const dnnl::memory::desc& user, const dnnl::memory::desc& wanted);
  void output(int argument, int index, const dnnl::memory::desc& user, const dnnl::memory::desc& wanted);
  /// Runs the primitive `times` times; the operand added last moves on by `step` bytes each time (others stay where they are).
  void repeat(int64_t times) { times_ = times; }
  void step(int64_t bytes) { operands_.back().step = bytes; }
  size_t scratch_bytes() const { return bytes_; }

  /// The memory objects of a run, without addresses. They are made ahead: a run makes nothing of its own.
  struct Call {
    std::vector<dnnl::memory> user, wanted;  // one for each operand; `wanted` is the user's where nothing is reordered
    dnnl::memory scratchpad;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  Call make_call() const;
  void run(const KernelArgs& args, const Call& call) const;

 private:
  struct Operand {
    int argument, index;
    bool is_input;
    dnnl::memory::desc user, wanted;
    dnnl::reorder reorder;  // empty when both layouts are the same
    size_t offset = 0;
    int64_t step = 0;
  };
  void add(Operand operand);

  dnnl::primitive primitive_;
  dnnl::memory::desc scratchpad_;
  std::vector<Operand> operands_;
  dnnl::stream stream_;
  size_t bytes_ = 0;
  int64_t times_ = 1;
};

/// A kernel that is one program. A run that finds the memory objects in use by another thread makes its own.
class ProgramKernel final : public Kernel {
 public:
  explicit ProgramKernel(Program program) : program_(std::move(program)), call_(program_.make_call()) {}
  size_t scratch_bytes() const override { return program_.scratch_bytes(); }
  void run(const KernelArgs& args) const override;

 private:
  Program program_;
  Program::Call call_;
  mutable std::atomic_flag busy_;
};

/// Attributes for a primitive that takes its scratch memory from us.
dnnl::primitive_attr user_scratchpad();

}  // namespace hw::onednn
