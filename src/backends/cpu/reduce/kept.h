// Which reductions have loops: all of them. `headwater prune` writes another such file, for those that its models use.
#pragma once

#include "kernels/reduce/plan.h"

namespace hw {

/// Whether elements are reduced by `kind` in the compute dtype.
constexpr bool reduction_kept(ReduceKind, DType) { return true; }
/// Whether elements in memory are of this 16-bit dtype.
constexpr bool reduced_from(DType) { return true; }

}  // namespace hw
