// What a loop of a plan runs for each piece: steps of its body by their kernels, and code generated for several of them at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "plan/plan.h"

namespace hw {

struct LoopUnit {
  int32_t step = -1;                            // of the body, run by its kernel; -1: generated code
  std::vector<int32_t> inputs, outputs;         // tiles, of generated code
  std::unique_ptr<Kernel> kernel, last_kernel;  // for a whole piece and for the last one
};

struct LoopCode {
  std::vector<LoopUnit> units;   // in the order of a run
  std::vector<int64_t> offsets;  // by tile, of those in scratch
  int64_t scratch_bytes = 0;
  int32_t fused = 0;  // steps that are in generated code
  std::string note;   // why not all of them
};

/// How each loop is best run. Generates code where the saving is worth it: elementwise steps over many elements. HEADWATER_CODEGEN=off
/// keeps all steps, =always generates for any size. Where code is wanted and cannot be made, code_stats says why.
std::vector<LoopCode> make_loop_code(std::span<const PlanLoop> loops);

}  // namespace hw
