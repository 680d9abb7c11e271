// What is left of a graph when it is compiled, and the same as bytes on disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "chain/chain.h"
#include "compiler/pipeline.h"
#include "plan/plan.h"

namespace hw {

struct ProgramPlan {
  Plan plan;
  std::optional<Plan> once;                         // what depends on state alone
  std::vector<int32_t> once_sources;                // its sources, by source of the graph
  std::vector<PreparedStep> kernels, once_kernels;  // of both plans, if they were made now
  PipelineResult passes;
  bool from_cache = false;
  std::string note;  // what was wrong with the entry on disk
};

std::string write_entry(const ProgramPlan& program, const Hash128& key);
/// Throws Error{Value} for what is damaged, of another key, or of another version.
ProgramPlan read_entry(const Ref<Storage>& file, const Hash128& key);

}  // namespace hw
