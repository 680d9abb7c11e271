// From a graph to a plan: views become addresses, values get memory, updates are written in place where they can be.
#pragma once

#include <vector>

#include "chain/chain.h"
#include "ir/graph.h"
#include "plan/plan.h"

namespace hw {

/// A plan and its kernels. They are prepared before memory is laid out, because the layout has to know their scratch.
struct Lowered {
  Plan plan;
  std::vector<PreparedStep> kernels;
};

/// Throws Error naming the operator where the graph does not fit its rules, or where no kernel serves.
Lowered lower(const Graph& graph);

}  // namespace hw
