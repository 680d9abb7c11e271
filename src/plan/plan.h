// The executable plan: which kernels run in which order on which bytes. Plain data; knows no graph and no machine code.
#pragma once

#include <string>
#include <vector>

#include "core/attr.h"
#include "core/attr_binding.h"
#include "core/tensor.h"

namespace hw {

constexpr int32_t kPlanVersion = 1;

/// A piece of memory that a plan works on.
struct PlanBuffer {
  enum class Kind : uint8_t {
    Arena,     // at `offset` in the plan's own memory
    Source,    // what the caller gives as source `index`: an argument or a state tensor
    Constant,  // data that belongs to the plan: constants[index]
    Output     // what the caller provides for output `index`
  };
  Kind kind = Kind::Arena;
  int32_t index = -1;
  int64_t offset = 0, bytes = 0;
};

/// A tensor: a buffer seen through a spec.
struct PlanTensor {
  int32_t buffer = -1;
  int64_t offset = 0;  // bytes from the start of the buffer to the first element
  TensorSpec spec;
};

/// One kernel call.
struct PlanStep {
  std::string op;
  std::vector<int32_t> inputs, outputs;  // into Plan::tensors; -1: not given
  Attrs attrs;
  std::vector<AttrBinding> bindings;
  DType compute = DType::None;
  int32_t origin = 0;
  int32_t loop = -1;            // into Plan::loops: the step is a loop over kernels
  std::vector<int32_t> bodies;  // into Plan::bodies: plans that the step runs, whose sources are its inputs
  int64_t scratch_offset = 0, scratch_bytes = 0;  // in the arena, for the kernel of this step alone
};

/// An operand of the kernels in a loop: a piece of one of the step's operands, or scratch memory of the thread.
struct PlanTile {
  int32_t operand = -1;        // into the step's inputs, then outputs; -1: scratch
  int64_t offset = 0;          // bytes, in scratch
  TensorSpec spec, last_spec;  // of one piece; of the piece at the end of the innermost loop, where that is smaller
  Dims steps;                  // bytes from one piece to the next, for each loop
};

/// Kernels that run together over pieces of their operands, so that what passes between them stays in the cache.
struct PlanLoop {
  Dims counts;  // pieces along each loop, outermost first
  bool has_last = false;
  size_t num_inputs = 0;      // of the step
  int64_t scratch_bytes = 0;  // of one thread
  std::vector<PlanTile> tiles;
  std::vector<PlanStep> body;  // operands are tiles
};

struct PlanSource {
  std::string name;
  TensorSpec spec;
  bool state = false;
  bool written = false;
};

struct Plan {
  int32_t version = kPlanVersion;
  std::string name;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanTensor> tensors;
  std::vector<PlanStep> steps;
  std::vector<PlanLoop> loops;
  std::vector<Plan> bodies;
  std::vector<PlanSource> sources;  // constants are not among them
  std::vector<int64_t> outputs;     // bytes of each Output buffer
  std::vector<int32_t> results;     // the tensor of each Output and Gradient result of the graph, in Output buffers
  std::vector<Tensor> constants;
  std::vector<std::string> origins;
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;  // the largest sum of tensors alive at once
  int32_t num_draws = 0, num_host = 0;
};

/// One line per kernel call: where its results and operands lie.
std::string plan_text(const Plan& plan);

}  // namespace hw
