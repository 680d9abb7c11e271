// From a captured graph to what runs: out of the cache on disk, or by passes and lowering.
#pragma once

#include "compiler/cache/entry.h"
#include "ir/graph.h"

namespace hw {

/// With HEADWATER_VERIFY=1, in debug builds, and when graph text is asked for (options.dump) nothing is taken from the cache.
/// With verification, plans go through a file and back on the way.
ProgramPlan plan_for(const Graph& graph, const PipelineOptions& options);

}  // namespace hw
