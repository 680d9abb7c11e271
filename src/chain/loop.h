// A kernel made of kernels: a PlanLoop, prepared.
#pragma once

#include "codegen/loop_code.h"
#include "kernels/kernel.h"
#include "plan/plan.h"

namespace hw {

/// The loop must stay where it is as long as the kernel lives.
std::unique_ptr<Kernel> prepare_loop(const PlanLoop& loop, LoopCode code);

}  // namespace hw
