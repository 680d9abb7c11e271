// Timing kernels against each other.
#pragma once

#include "kernels/kernel.h"

namespace hw {

struct TimedKernel {
  const Kernel* kernel;
  const KernelRequest* request;
};

/// Seconds of one run of each kernel with num_threads() threads: the least of several runs in turns, each with cold caches, as between
/// the other operators of a network. Operands are made up.
std::vector<double> measure(std::span<const TimedKernel> kernels);

}  // namespace hw
