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

/// The same for a table whose gradient is given as rows: input 1 the gradients, input 2 the rows that they belong to.
inline std::vector<TensorSpec> embedding_step_outputs(const InferCtx& c) {
  std::vector<TensorSpec> out;
  const TensorSpec &param = c.in[0], &dy = c.in[1], &index = c.in[2];
  check(param.ndim() == 2, "param must be a table with two axes, got ", param);
  Dims want = index.shape;
  want.push_back(param.shape[1]);
  check(dy.shape == want, "grad is ", dy, ", must have the shape ", want, " for index ", index);
  check_type(dy.dtype == param.dtype, "grad is ", dy.dtype, ", param is ", param.dtype, ". They must be equal.");
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (i == 1 || i == 2 || !c.in[i].given()) continue;
    const std::string& name = c.op.inputs()[i].name;
    check(c.in[i].shape == param.shape, name, " has shape ", c.in[i].shape, ", param has shape ", param.shape,
          ". They must be equal.");
    check_type(c.in[i].dtype == param.dtype, name, " is ", c.in[i].dtype, ", param is ", param.dtype,
               ". They must be equal.");
    out.push_back({param.dtype, false, param.device, param.shape, {}});
  }
  return out;
}

}  // namespace hw
