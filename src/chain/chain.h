// A chain: the plan's kernels, prepared, over one arena. Running it decides nothing and allocates nothing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codegen/loop_code.h"
#include "kernels/kernel.h"
#include "plan/plan.h"

namespace hw {

/// The kernel of a step, and the name of what serves it.
struct PreparedStep {
  std::unique_ptr<Kernel> kernel;
  std::string name, note;
};

/// Chooses and prepares a kernel for every step. Throws Error naming the step's operator and origin when none serves. Only specs count,
/// so that this may come before memory is laid out; the plan's steps, loops and bodies must not be copied to elsewhere afterwards.
std::vector<PreparedStep> prepare_steps(const Plan& plan);

/// What a run needs from outside: addresses by source and output number, and the numbers of this run.
struct ChainInputs {
  std::span<const void* const> sources;  // first element of each source
  std::span<void* const> outputs;        // memory for each output buffer
  std::span<const double> host;
  uint64_t seed = 0, first_draw = 0;
};

class Chain {
 public:
  /// With the kernels that prepare_steps(plan) gave, or gives if there are none.
  explicit Chain(Plan plan, std::vector<PreparedStep> kernels = {});
  ~Chain();
  Chain(const Chain&) = delete;

  const Plan& plan() const { return plan_; }
  /// Bytes of working memory a run needs: the arena, in which kernels have their scratch. Behind it is room only for kernels that want
  /// more scratch than when the plan was made.
  size_t memory_bytes() const { return arena_bytes_ + scratch_bytes_; }
  /// Runs on the caller's thread with `memory` (64-byte aligned). Not to be called twice at once. A kernel's complaint about the data is
  /// thrown as Error{Index} with the operator and its origin; outputs and state are undefined then.
  void run(const ChainInputs& in, void* memory);
  /// The name of the kernel that serves step i: "simd", "onednn"; of a loop "generated" or "tiles".
  const std::string& kernel_name(size_t step) const { return steps_[step].kernel_name; }
  /// Of a loop: how many of its steps are in generated code, and why not all ("" for other steps).
  std::string code_note(size_t step) const { return steps_[step].note; }
  /// Nanoseconds spent in each step of the last profiled run.
  std::vector<int64_t> run_timed(const ChainInputs& in, void* memory);

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::string kernel_name, note;
    std::string label, operands;  // for profilers: filled in when one first looks
    uint32_t first_input = 0, num_inputs = 0, first_output = 0;
    Attrs attrs;
    size_t scratch = 0;  // from the start of the working memory
  };
  struct Place {  // of one pointer that run() fills in
    uint32_t at;
    PlanBuffer::Kind kind;
    int32_t index;
    int64_t offset;
  };

  void add_step(size_t i, PreparedStep prepared);
  uint32_t add_pointer(int32_t tensor);
  void resolve(const ChainInputs& in, char* memory);
  void bind_attrs(const ChainInputs& in);
  void launch(size_t i, char* memory);
  void run_traced(char* memory);
  [[noreturn]] void complain(size_t i, const char* message) const;

  Plan plan_;
  std::vector<Step> steps_;
  std::vector<void*> pointers_;
  std::vector<Place> places_;
  size_t arena_bytes_ = 0, scratch_bytes_ = 0;
  void* resolved_for_ = nullptr;
};

}  // namespace hw
