// Forward and backward of a captured function as two programs, for outputs that are differentiated outside.
#pragma once

#include "compiler/program/program.h"

namespace hw {

struct SplitParts {
  ProgramParts forward;  // outputs: the function's, then `num_saved` values for the backward pass
  ProgramParts
      backward;  // arguments: gradients of outputs, saved values, then the function's arguments listed in `arguments`
  int32_t num_saved = 0;
  std::vector<int32_t> arguments;  // of the function, that backward reads
};

/// `boundary`: how many nodes the forward pass has; `outputs`: how many outputs the function returned (those after are the gradients);
/// `arguments`: how many arguments the function has (inputs after are the gradients of outputs).
SplitParts split_backward(const ProgramParts& joint, size_t boundary, size_t outputs, int32_t arguments);

}  // namespace hw
