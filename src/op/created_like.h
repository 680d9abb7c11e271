// What composites and gradients create on the way (zeros, random numbers) goes where the tensors are that they were called with.
#pragma once

#include <span>

#include "core/tensor.h"

namespace hw {

/// The global tensor that ops without tensor inputs follow, while a composite or a gradient of it runs on this thread.
inline thread_local const Tensor* t_created_like = nullptr;

/// Whether ordinary tensors beside global ones are taken as the same on every rank, where the user says so; a depth.
inline thread_local int t_implicit_broadcast = 0;

/// Makes the first global tensor of a list the model for a scope; none in it: nothing changes.
class CreatedLike {
 public:
  explicit CreatedLike(std::span<const Tensor> of) : before_(t_created_like) {
    for (const Tensor& t : of)
      if (t.defined() && t->global) {
        model_ = t;
        t_created_like = &model_;
        return;
      }
  }
  ~CreatedLike() { t_created_like = before_; }
  CreatedLike(const CreatedLike&) = delete;
  CreatedLike& operator=(const CreatedLike&) = delete;

 private:
  const Tensor* before_;
  Tensor model_;
};

}  // namespace hw
