// Which kernels a frozen model runs on own kernels alone: what a runtime pruned to it must hold.
#pragma once

#include <string>
#include <vector>

#include "base/sha256.h"
#include "kernels/isa.h"
#include "plan/frozen.h"

namespace hw {

struct UsedCall {
  Sha256 digest;  // of plan/calls.h
  std::string op;
  std::vector<std::string> kernels;  // by name: the one that serves, or all that may
  std::string functor;               // of an elementwise loop, which computes in `compute`
  DType compute = DType::None;       // likewise of a reduction
  int reduction = -1;                // its ReduceKind, of elements in `compute`
  std::vector<DType> dtypes;         // that pass through kernels
};

/// Every call once, in the order of digests. `isa` is the instruction set of the machine that will run them; where it is not one of this
/// machine, all own candidates are named, since only that machine knows which will accept.
std::vector<UsedCall> used_calls(const FrozenModel& model, Isa isa);

}  // namespace hw
