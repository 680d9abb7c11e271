// Scores of classes with a margin for the target: the greatest, the sum of exponentials, and their gradient, by rows.
#include "kernels/loss/class_scores.h"

#include "backends/cpu/loss/cross_entropy.h"

namespace hw {

static std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  const DType d = request.inputs[0].dtype;
  return make_class_kernel(request, find_class_scores_row(request.op, d), d, d == DType::F64 ? d : DType::F32, true,
                           why_not);
}

static const RegisterKernel registered[] = {
    RegisterKernel({"_class_max", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_class_sums", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_class_sums_grad", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace hw
