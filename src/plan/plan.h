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
  std::vector<PlanSource> sources;    // constants are not among them
  std::vector<int64_t> outputs;       // bytes of each Output buffer
  std::vector<int32_t> results;       // the tensor of each Output and Gradient result of the graph, in Output buffers
  std::vector<Tensor> constants;
  std::vector<std::string> origins;
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;  // the largest sum of tensors alive at once
  int32_t num_draws = 0, num_host = 0;
};

/// One line per kernel call: where its results and operands lie.
std::string plan_text(const Plan& plan);

}  // namespace hw
