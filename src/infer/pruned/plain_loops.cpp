// In a pruned runtime, in place of the code generator: all steps of a loop run by their own kernels, where the plan put them.
#include "codegen/loop_code.h"

namespace hw {

std::vector<LoopCode> make_loop_code(std::span<const PlanLoop> loops) {
  std::vector<LoopCode> made;
  for (const PlanLoop& loop : loops) {
    LoopCode& code = made.emplace_back();
    for (size_t i = 0; i < loop.body.size(); ++i) code.units.emplace_back().step = static_cast<int32_t>(i);
    for (const PlanTile& t : loop.tiles) code.offsets.push_back(t.offset);
    code.scratch_bytes = loop.scratch_bytes;
  }
  return made;
}

}  // namespace hw
