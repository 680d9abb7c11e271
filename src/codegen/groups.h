// Which steps of a loop's body become one expression.
#pragma once

#include <string>
#include <vector>

#include "codegen/expression.h"
#include "plan/plan.h"

namespace hw {

struct StepGroup {
  std::vector<int32_t> steps;            // in order
  std::vector<int32_t> inputs, outputs;  // tiles that are read from and written to memory
  FusedExpression expression;            // `varies` is not set yet
};

/// The order of a run in which groups stand in one place: a step, or -1 - g for group g.
struct Grouping {
  std::vector<StepGroup> groups;
  std::vector<int32_t> order;
  std::string note;  // why a step stands alone
};

Grouping group_steps(const PlanLoop& loop);

}  // namespace hw
