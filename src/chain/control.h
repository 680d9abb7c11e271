// Kernels that run plans: a branch and a loop on data.
#pragma once

#include "kernels/kernel.h"
#include "plan/plan.h"

namespace hw {

/// `_cond`: inputs are the condition and what the branches read; `_while`: the carried values and what both graphs read.
std::unique_ptr<Kernel> prepare_control(const Plan& plan, const PlanStep& step);

}  // namespace hw
