// In a pruned runtime, in place of op/check_plan.cpp. The rules of operators are not here; but each call of the models was judged by them
// when the runtime was made, and no other call is let through. SHA-256 stands for the call, so that none can be made to look like it.
#include <algorithm>

#include "base/error.h"
#include "infer/pruned/pruned.h"
#include "op/check_plan.h"
#include "plan/calls.h"

namespace hw {

std::string calls_problem(const Plan& plan) {
  check_processor();
  return first_problem(plan, [](const PlanCall& c) -> std::string {
    if (std::binary_search(kKnownCalls, kKnownCalls + kNumKnownCalls, call_digest(c))) return {};
    std::string in;
    for (const TensorSpec& s : c.inputs)
      in += s.given() ? text(in.empty() ? "" : ", ", s) : text(in.empty() ? "" : ", ", "None");
    return text(c.step.op, "(", in,
                ") is no call of the models that this runtime was pruned to; prune again with this model");
  });
}

}  // namespace hw
