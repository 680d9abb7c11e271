// One optimiser step over many parameters, in place: what hw.optim and C++ training loops call.
#pragma once

#include "op/op_def.h"

namespace hw {

/// Runs a step op (sgd_step, adam_step, ...) for each parameter. lists[k] holds input k of the op for all parameters, or is
/// empty where that input is not used: lists[0] the parameters, lists[1] their gradients, then the states. Parameters and
/// states are rewritten, without a trace on the tape.
void optimizer_step(const OpDef& op, std::span<const Tensors> lists, const Attrs& attrs);

}  // namespace hw
