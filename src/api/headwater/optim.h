// Optimisers for C++ users; names and defaults as torch.optim.
#pragma once

#include <vector>

#include "headwater/call.h"

namespace headwater::optim {

struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};

class SGD {
 public:
  SGD(Tensors parameters, SGDOptions options) : parameters_(std::move(parameters)), options_(options) {}
  void step();
  void zero_grad();
  SGDOptions& options() { return options_; }

 private:
  Tensors parameters_, momentum_;
  SGDOptions options_;
};

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
};

/// Loshchilov and Hutter, "Decoupled weight decay regularization" (2019). weight_decay = 0 is Adam.
class AdamW {
 public:
  AdamW(Tensors parameters, AdamWOptions options) : parameters_(std::move(parameters)), options_(options) {}
  void step();
  void zero_grad();
  AdamWOptions& options() { return options_; }

 private:
  Tensors parameters_, mean_, square_;
  AdamWOptions options_;
  int64_t steps_ = 0;
};

}  // namespace headwater::optim
