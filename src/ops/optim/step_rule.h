// Rules that the optimiser steps share: outputs are the tensors that the step rewrites, given in place by the caller.
#pragma once

#include "base/error.h"
#include "op/rules.h"

namespace hw {

/// Output k is what becomes of input 0 (the parameter), then of each state that is given. Input 1 is the gradient.
inline std::vector<TensorSpec> step_outputs(const InferCtx& c) {
  std::vector<TensorSpec> out;
  const TensorSpec& param = c.in[0];
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (!c.in[i].given()) continue;
    const std::string& name = c.op.inputs()[i].name;
    check(c.in[i].shape == param.shape, name, " has shape ", c.in[i].shape, ", param has shape ", param.shape,
          ". They must be equal.");
    check_type(c.in[i].dtype == param.dtype, name, " is ", c.in[i].dtype, ", param is ", param.dtype,
               ". They must be equal.");
    if (i != 1) out.push_back({param.dtype, false, param.device, param.shape, {}});
  }
  return out;
}

}  // namespace hw
