// Whether the kernel calls of a plan are such as its operators take.
#pragma once

#include <string>

#include "plan/plan.h"

namespace hw {

/// For plans from outside that plan_problem() found nothing wrong with: operators exist, attributes are of the declared kinds,
/// outputs have the shapes of the rules. The first thing that is wrong, or empty.
std::string calls_problem(const Plan& plan);

}  // namespace hw
