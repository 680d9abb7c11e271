// Cross-entropy along any axis: one pass for the loss, one for the gradient, nothing of the size of the scores in between.
#include "backends/cpu/loss/cross_entropy.h"

namespace hw {

static std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  const TensorSpec& x = request.inputs[0];
  const DType wide = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  LineSpec spec;
  spec.axes = {x.ndim() == 1 ? 0 : 1};
  spec.fn = find_cross_entropy_row(request.op, x.dtype);
  spec.in = {{LineRole::Whole, x.dtype}, {LineRole::PerLine, DType::I64}};
  spec.params = {static_cast<double>(request.attrs[0].i64()), request.attrs[1].f64()};
  spec.cost = 4;
  if (request.op == "_cross_entropy") {
    spec.out = {{LineRole::PerLine, wide}, {LineRole::PerLine, wide}};
  } else {
    spec.in.push_back({LineRole::PerLine, wide});
    spec.in.push_back({LineRole::PerLine, wide});
    spec.out = {{LineRole::Whole, x.dtype}};
  }
  return make_line_kernel(request, std::move(spec), why_not);
}

static const RegisterKernel registered[] = {
    RegisterKernel({"_cross_entropy", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_cross_entropy_grad", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace hw
