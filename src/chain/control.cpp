// Branches and loops. The plans inside work in this kernel's scratch memory; loops keep the carried values there, twice.
#include "chain/control.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "chain/chain.h"

namespace hw {

namespace {

/// Runs a nested chain; its complaint about the data becomes this kernel's.
void run_nested(Chain& chain, std::span<const void* const> sources, std::span<void* const> outputs, void* memory,
                LaunchStatus* status) {
  try {
    chain.run({sources, outputs, {}, 0, 0}, memory);
  } catch (const Error& e) {
    status->report("%s%s", e.kind() == ErrorKind::Runtime ? "RuntimeError: " : "", e.what());
  }
}

class CondKernel final : public Kernel {
 public:
  CondKernel(const Plan& yes, const Plan& no, size_t inputs, size_t outputs)
      : yes_(yes), no_(no), inputs_(inputs), outputs_(outputs) {}
  size_t scratch_bytes() const override { return std::max(yes_.memory_bytes(), no_.memory_bytes()); }
  void run(const KernelArgs& a) const override {
    Chain& chain = *static_cast<const bool*>(a.inputs[0]) ? yes_ : no_;
    run_nested(chain, {a.inputs, inputs_}, {a.outputs, outputs_}, a.scratch, a.status);
  }

 private:
  mutable Chain yes_, no_;
  size_t inputs_, outputs_;
};

class WhileKernel final : public Kernel {
 public:
  WhileKernel(const Plan& condition, const Plan& body, size_t inputs, size_t carried)
      : condition_(condition), body_(body), inputs_(inputs), carried_(carried), now_(inputs), next_(carried) {
    for (int64_t bytes : body.outputs) {
      offsets_.push_back(carried_bytes_);
      sizes_.push_back(static_cast<size_t>(bytes));
      carried_bytes_ += (static_cast<size_t>(bytes) + 63) / 64 * 64;
    }
  }
  size_t scratch_bytes() const override {
    return 64 + 2 * carried_bytes_ + std::max(condition_.memory_bytes(), body_.memory_bytes());
  }
  void run(const KernelArgs& a) const override {
    auto* going = static_cast<char*>(a.scratch);
    char* buffers[2] = {going + 64, going + 64 + carried_bytes_};
    char* memory = buffers[1] + carried_bytes_;
    std::copy(a.inputs, a.inputs + inputs_, now_.begin());
    void* const flag[1] = {going};
    for (size_t turn = 0; !a.status->failed; ++turn) {
      run_nested(condition_, now_, flag, memory, a.status);
      if (a.status->failed || !*reinterpret_cast<const bool*>(going)) break;
      for (size_t i = 0; i < carried_; ++i) next_[i] = buffers[turn % 2] + offsets_[i];
      run_nested(body_, now_, next_, memory, a.status);
      for (size_t i = 0; i < carried_; ++i) now_[i] = next_[i];
    }
    for (size_t i = 0; i < carried_; ++i) std::memcpy(a.outputs[i], now_[i], sizes_[i]);
  }

 private:
  mutable Chain condition_, body_;
  size_t inputs_, carried_, carried_bytes_ = 0;
  std::vector<size_t> offsets_, sizes_;
  mutable std::vector<const void*> now_;  // of the run that is going on: like the chains, for one run at a time
  mutable std::vector<void*> next_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_control(const Plan& plan, const PlanStep& step) {
  const Plan &first = plan.bodies[static_cast<size_t>(step.bodies[0])],
             &second = plan.bodies[static_cast<size_t>(step.bodies[1])];
  if (step.op == "_cond") return std::make_unique<CondKernel>(first, second, step.inputs.size(), step.outputs.size());
  if (step.op == "_while") return std::make_unique<WhileKernel>(first, second, step.inputs.size(), step.outputs.size());
  bug("there is no kernel that runs the plans of ", step.op);
}

}  // namespace hw
