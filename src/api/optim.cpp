// Optimisers for C++ users: each step is one fused kernel per parameter, as in headwater.optim.
#include "headwater/optim.h"

#include "eager/optimizer_step.h"
#include "headwater/autograd.h"
#include "op/math.h"

namespace headwater::optim {

void SGD::zero_grad() { headwater::zero_grad(parameters_); }

void SGD::step() {
  momentum_.resize(parameters_.size());
  Tensors fresh[3], known[3];  // parameters, gradients, buffers: those whose buffer is empty, and the others
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor g = grad(parameters_[i]);
    if (!g.defined()) continue;
    bool first = options_.momentum != 0 && !momentum_[i].defined();
    if (first) momentum_[i] = hw::zeros_like(parameters_[i]);
    Tensors* lists = first ? fresh : known;
    lists[0].push_back(parameters_[i]);
    lists[1].push_back(g);
    if (options_.momentum != 0) lists[2].push_back(momentum_[i]);
  }
  const hw::OpDef& op = hw::get_op("sgd_step");
  for (bool first : {true, false})
    hw::optimizer_step(op, first ? fresh : known,
                       {options_.lr, options_.momentum, options_.dampening, options_.weight_decay, options_.nesterov,
                        /*maximize=*/false, first});
}

void AdamW::zero_grad() { headwater::zero_grad(parameters_); }

void AdamW::step() {
  mean_.resize(parameters_.size());
  square_.resize(parameters_.size());
  ++steps_;
  Tensors lists[5];  // parameters, gradients, means, mean squares; AMSGrad's largest is not used
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor g = grad(parameters_[i]);
    if (!g.defined()) continue;
    if (!mean_[i].defined()) {
      mean_[i] = hw::zeros_like(parameters_[i]);
      square_[i] = hw::zeros_like(parameters_[i]);
    }
    lists[0].push_back(parameters_[i]);
    lists[1].push_back(g);
    lists[2].push_back(mean_[i]);
    lists[3].push_back(square_[i]);
  }
  hw::optimizer_step(hw::get_op("adam_step"), lists,
                     {options_.lr, options_.beta1, options_.beta2, options_.eps, options_.weight_decay, steps_,
                      /*decoupled=*/true, /*maximize=*/false});
}

}  // namespace headwater::optim
