// In a pruned runtime, in place of kernels/tuning: no candidates are timed, the first that accepts is taken.
#include "kernels/tuning/tuning.h"

namespace hw {

std::unique_ptr<Kernel> prepare_fastest(const KernelRequest& request, DeviceType device, std::string* chosen) {
  return prepare_kernel(request, device, chosen);
}

}  // namespace hw
