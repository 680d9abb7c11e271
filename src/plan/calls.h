// The kernel calls of a plan, also those inside of loops and nested plans, and names for them that cannot be forged.
#pragma once

#include <span>
#include <string>

#include "base/function_ref.h"
#include "base/sha256.h"
#include "plan/plan.h"

namespace hw {

/// What a kernel is prepared for: an operator with the specs of its operands.
struct PlanCall {
  const PlanStep& step;
  std::span<const TensorSpec> inputs, outputs;
};

/// Asks `judge` of each call, until one is not empty; gives that, or empty.
std::string first_problem(const Plan& plan, FunctionRef<std::string(const PlanCall&)> judge);

/// Equal for calls that are equal in all that kernels see: operator, specs with strides, attributes, bindings.
Sha256 call_digest(const PlanCall& call);

}  // namespace hw
