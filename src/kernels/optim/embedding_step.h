// What an embedding step is made of: the step of a whole tensor, and the gradient of a table.
#pragma once

#include "kernels/kernel.h"

namespace hw {

struct EmbeddingStepParts {
  std::string_view op;                  // "sgd_step"
  std::vector<TensorSpec> step_inputs;  // param, the gradient of the table, states
  int64_t padding = -1;
  bool by_frequency = false;
};

/// Of a request for "embedding_sgd_step" or one of its kind.
EmbeddingStepParts embedding_step_parts(const KernelRequest& request);

}  // namespace hw
