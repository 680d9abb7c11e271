// Optimisers for C++ users, written with in-place operators.
#include "headwater/optim.h"

#include <cmath>

#include "headwater/autograd.h"
#include "op/math.h"

namespace headwater::optim {

static const hw::Op add{"add"}, mul{"mul"};

/// t += factor * other
static void add_scaled(const Tensor& t, const Tensor& other, double factor) {
  add.inplace({t, other}, {Scalar(factor)});
}
static void scale(const Tensor& t, double factor) { mul.inplace({t, hw::number(Scalar(factor))}); }

void SGD::zero_grad() { headwater::zero_grad(parameters_); }

void SGD::step() {
  NoGrad scope;
  momentum_.resize(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    Tensor d = grad(p);
    if (!d.defined()) continue;
    if (options_.weight_decay != 0) d = d + p * Scalar(options_.weight_decay);
    if (options_.momentum != 0) {
      Tensor& m = momentum_[i];
      if (!m.defined()) {
        m = hw::clone(d);
      } else {
        scale(m, options_.momentum);
        add_scaled(m, d, 1 - options_.dampening);
      }
      d = options_.nesterov ? d + m * Scalar(options_.momentum) : m;
    }
    add_scaled(p, d, -options_.lr);
  }
}

void AdamW::zero_grad() { headwater::zero_grad(parameters_); }

void AdamW::step() {
  NoGrad scope;
  mean_.resize(parameters_.size());
  square_.resize(parameters_.size());
  ++steps_;
  const double steps = static_cast<double>(steps_);
  const double correct1 = 1 - std::pow(options_.beta1, steps), correct2 = 1 - std::pow(options_.beta2, steps);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    Tensor g = grad(p);
    if (!g.defined()) continue;
    if (!mean_[i].defined()) {
      mean_[i] = hw::zeros_like(p);
      square_[i] = hw::zeros_like(p);
    }
    if (options_.weight_decay != 0) scale(p, 1 - options_.lr * options_.weight_decay);
    scale(mean_[i], options_.beta1);
    add_scaled(mean_[i], g, 1 - options_.beta1);
    scale(square_[i], options_.beta2);
    add_scaled(square_[i], g * g, 1 - options_.beta2);
    Tensor root = hw::sqrt(square_[i]) * Scalar(1 / std::sqrt(correct2)) + Scalar(options_.eps);
    add_scaled(p, mean_[i] / root, -options_.lr / correct1);
  }
}

}  // namespace headwater::optim
