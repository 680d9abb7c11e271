// From a graph to a plan: views become addresses, values get memory, updates are written in place where they can be.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

namespace hw {

/// Throws Error naming the operator where the graph does not fit its rules.
Plan lower(const Graph& graph);

}  // namespace hw
