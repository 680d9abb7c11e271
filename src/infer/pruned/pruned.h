// What a pruned runtime is told of its models (pruned_model.cpp, written by `headwater prune`), and asks of its machine.
#pragma once

#include <cstddef>

#include "base/sha256.h"

namespace hw {

/// The kernel calls of the models, in order.
extern const Sha256 kKnownCalls[];
extern const size_t kNumKnownCalls;

/// Throws Error{Runtime} if the processor lacks the instruction set that everything is compiled for.
void check_processor();

}  // namespace hw
