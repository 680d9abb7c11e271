// Who wants to know of reads and writes of `.grad`: capture, for which a gradient is state that comes and goes.
#pragma once

#include "core/tensor.h"

namespace hw {

class GradJournal {
 public:
  virtual ~GradJournal() = default;
  virtual void reading(const Tensor& leaf) = 0;  // before leaf.grad is read, absent or not
  virtual void writing(const Tensor& leaf) = 0;  // before leaf.grad becomes another tensor or None
  virtual void asking(const Tensor& t) = 0;      // before t.requires_grad is read or set, or its history changes
};

inline thread_local GradJournal* t_grad_journal = nullptr;

}  // namespace hw
