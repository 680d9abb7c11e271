// Asking the candidates for each call of a frozen model; see the header.
#include "compiler/freeze/used_kernels.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/elementwise/driver.h"
#include "kernels/kernel.h"
#include "kernels/reduce/plan.h"
#include "plan/calls.h"

namespace hw {

namespace {

/// The instruction set in use, put back at the end.
class WithIsa {
 public:
  explicit WithIsa(Isa wanted) : before_(isa()) { set_isa(wanted); }
  WithIsa(const WithIsa&) = delete;
  ~WithIsa() { set_isa(before_); }

 private:
  Isa before_;
};

bool own(const KernelEntry& e) { return e.name != "onednn"; }

class Caller {
 public:
  explicit Caller(bool exact) : exact_(exact) {}

  UsedCall call(const PlanCall& c) const {
    UsedCall used{call_digest(c), c.step.op, {}, {}, DType::None, -1, {}};
    const KernelRequest request{c.step.op, c.inputs, c.outputs, c.step.attrs, c.step.compute};
    std::string reasons;
    for (const KernelEntry& e : kernel_candidates(c.step.op, DeviceType::CPU)) {
      if (!own(e)) continue;
      std::string why;
      const bool accepts = e.prepare(request, why) != nullptr;
      if (e.prepare == &prepare_elementwise && accepts) add_functor(request, used);
      if (accepts || !exact_) used.kernels.emplace_back(e.name);
      if (accepts && (exact_ || e.prepare == &prepare_elementwise)) break;  // elementwise loops serve alike everywhere
      reasons += text("; ", e.name, ": ", why);
    }
    check(!used.kernels.empty(), c.step.op, " has no kernel but oneDNN's, which a pruned runtime does not hold",
          reasons);
    if (used.functor.empty()) add_reduction(request, used);
    add_dtypes(c, used);
    return used;
  }

 private:
  static void add_functor(const KernelRequest& request, UsedCall& used) {
    ElementwisePlan plan;
    std::string why;
    if (!make_elementwise_plan(request, &find_elementwise, plan, why)) return;
    used.functor = plan.entry->op, used.compute = plan.entry->compute;
    used.dtypes.push_back(plan.entry->out);
  }
  static void add_reduction(const KernelRequest& request, UsedCall& used) {
    ReduceRecipe recipe;
    std::string why;
    if (!reduce_recipe(request, recipe, why)) return;
    used.reduction = static_cast<int>(recipe.kind), used.compute = recipe.compute;
  }
  static void add_dtypes(const PlanCall& c, UsedCall& used) {
    for (auto specs : {c.inputs, c.outputs})
      for (const TensorSpec& s : specs) used.dtypes.push_back(s.dtype);
    used.dtypes.push_back(c.step.compute);
    used.dtypes.push_back(used.compute);
    if (std::any_of(used.dtypes.begin(), used.dtypes.end(), is_reduced)) used.dtypes.push_back(DType::F32);
    std::sort(used.dtypes.begin(), used.dtypes.end());
    used.dtypes.erase(std::unique(used.dtypes.begin(), used.dtypes.end()), used.dtypes.end());
    if (!used.dtypes.empty() && used.dtypes.back() == DType::None) used.dtypes.pop_back();
  }

  bool exact_;
};

}  // namespace

std::vector<UsedCall> used_calls(const FrozenModel& model, Isa wanted) {
  const WithIsa with(wanted);
  const Caller caller(isa() == wanted);
  std::vector<UsedCall> calls;
  const auto add = [&](const Plan& plan) {
    first_problem(plan, [&](const PlanCall& c) {
      calls.push_back(caller.call(c));
      return std::string();
    });
  };
  for (const FrozenForm& f : model.forms) {
    add(f.plan);
    if (f.once) add(*f.once);
  }
  std::sort(calls.begin(), calls.end(), [](const UsedCall& a, const UsedCall& b) { return a.digest < b.digest; });
  const auto same = [](const UsedCall& a, const UsedCall& b) { return a.digest == b.digest; };
  calls.erase(std::unique(calls.begin(), calls.end(), same), calls.end());
  return calls;
}

}  // namespace hw
