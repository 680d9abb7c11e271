// Comparing plans.
#pragma once

#include <string>

#include "plan/plan.h"

namespace hw {

/// Where two plans differ ("step 3: attribute 1"), or empty. Constants are compared by their bytes.
std::string plan_difference(const Plan& a, const Plan& b);

}  // namespace hw
