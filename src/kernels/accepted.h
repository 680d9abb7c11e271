// All kernels that would serve a request, where the first one is not good enough an answer.
#pragma once

#include "kernels/kernel.h"

namespace hw {

struct AcceptedKernel {
  std::string_view name;
  int priority = 0;
  std::unique_ptr<Kernel> kernel;
};

/// Prepared, best priority first, without those that are switched off. May be empty.
std::vector<AcceptedKernel> accepted_kernels(const KernelRequest& request, DeviceType device);

}  // namespace hw
