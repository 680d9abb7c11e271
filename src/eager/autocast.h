// hw.amp.autocast: what happens to the floating inputs of an op while it is on. The op's declaration says which class it is in.
#pragma once

#include "op/op_def.h"

namespace hw {

struct AutocastState {
  bool enabled = false;
  DType dtype = DType::BF16;
};
inline thread_local AutocastState t_autocast;

/// The inputs as autocast wants them; empty when nothing changes.
Tensors autocast_inputs(const OpDef& op, std::span<const Tensor> in);

}  // namespace hw
