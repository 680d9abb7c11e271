// Whether a plan holds together: every index, and every byte that a run would touch.
#pragma once

#include <string>

#include "plan/plan.h"

namespace hw {

/// The first thing that is wrong with a plan from outside, or empty. A plan without a problem touches only memory of its own
/// and of its caller, provided its kernels keep to their operands; whether the operators exist and take such operands is known
/// further up (op/check_plan.h).
std::string plan_problem(const Plan& plan);

/// Of one spec: dtype, device, sizes, strides; all bytes can be counted.
std::string spec_problem(const TensorSpec& spec);

}  // namespace hw
