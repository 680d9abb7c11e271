// The attributes of each optimiser step, which the step of a whole tensor and that of an embedding table share. Kernels read them by
// position: kernels/optim/formulas.h.
#pragma once

#include "ops/optim/step_rule.h"

namespace hw {

inline OpDef& sgd_attributes(OpDef& op) {
  return op.attr("lr", 1e-3, "learning rate")
      .dynamic()
      .attr("momentum", 0.0, "factor of the buffer")
      .dynamic()
      .attr("dampening", 0.0, "what is withheld of the gradient when it enters the buffer")
      .dynamic()
      .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
      .dynamic()
      .attr("nesterov", false, "Nesterov's momentum")
      .attr("maximize", false, "climb instead of descend")
      .dynamic()
      .attr("first", false, "the buffer is empty: it becomes the gradient")
      .dynamic();
}

inline OpDef& adam_attributes(OpDef& op, double lr = 1e-3) {
  return op.attr("lr", lr, "learning rate")
      .dynamic()
      .attr("beta1", 0.9, "decay of the mean")
      .dynamic()
      .attr("beta2", 0.999, "decay of the mean square")
      .dynamic()
      .attr("eps", 1e-8, "added to the root")
      .dynamic()
      .attr("weight_decay", 0.0, "see adam_step")
      .dynamic()
      .attr("step", 1, "which step this is, from 1")
      .dynamic()
      .attr("decoupled", false, "AdamW's weight decay")
      .dynamic()
      .attr("maximize", false, "climb instead of descend")
      .dynamic();
}

inline OpDef& adagrad_attributes(OpDef& op) {
  return op.attr("lr", 1e-3, "learning rate")
      .dynamic()
      .attr("lr_decay", 0.0, "decay of the learning rate")
      .dynamic()
      .attr("eps", 1e-10, "added to the root")
      .dynamic()
      .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
      .dynamic()
      .attr("step", 1, "which step this is, from 1")
      .dynamic()
      .attr("maximize", false, "climb instead of descend")
      .dynamic();
}

inline OpDef& rmsprop_attributes(OpDef& op) {
  return op.attr("lr", 1e-3, "learning rate")
      .dynamic()
      .attr("alpha", 0.99, "decay of the mean square")
      .dynamic()
      .attr("eps", 1e-8, "added to the root")
      .dynamic()
      .attr("weight_decay", 0.0, "factor of the parameter that is added to the gradient")
      .dynamic()
      .attr("momentum", 0.0, "factor of the buffer")
      .dynamic()
      .attr("maximize", false, "climb instead of descend")
      .dynamic();
}

/// What an embedding step has behind the attributes of the step.
inline OpDef& embedding_attributes(OpDef& op) {
  return op.attr("padding_idx", int64_t{-1}, "a row without gradient; -1: none")
      .attr("scale_grad_by_freq", false, "divide gradients by how often a row occurs");
}

}  // namespace hw
