// Which gradients read a saved input: x * 2 keeps nothing of x, since only the gradient of the 2 would read it.
#pragma once

#include "op/op_def.h"

namespace hw {

/// Bit j: the gradient of input j reads input i. All bits unless the declaration says `.grad("input:other other:input", ...)`.
uint64_t readers_of_input(const OpDef& op, size_t i);

}  // namespace hw
