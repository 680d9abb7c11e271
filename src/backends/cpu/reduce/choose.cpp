// argmax, argmin, and max and min along an axis: lines and blocks of lines by SIMD.
#include "backends/cpu/reduce/choose.h"

#include "kernels/reduce/plan.h"

namespace hw {

namespace {

/// Integers of up to 32 bits are compared as i32.
DType compared(DType d) { return is_floating(d) || d == DType::I64 ? d : DType::I32; }

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const TensorSpec& x = request.inputs[0];
  if (x.ndim() > 0) spec.axes = reduced_axes(request.attrs[0], x.ndim());
  int64_t length = 1;
  for (int64_t a : spec.axes) length *= x.shape[static_cast<size_t>(a)];
  if (length >= int64_t{1} << 31) return why_not = "lines of 2^31 elements", nullptr;
  const DType d = compared(x.dtype);
  const ChooseLines lines = find_choose_lines(d, request.op == "argmax" || request.op == "_max_dim");
  spec.fn = lines.line;
  spec.block = lines.block;
  spec.block_sums = kChooseSums;
  spec.block_least = 8;
  spec.in = {{LineRole::Whole, d}};
  if (request.outputs.size() == 2) spec.out = {{LineRole::PerLine, is_reduced(d) ? DType::F32 : d}};
  spec.out.push_back({LineRole::PerLine, DType::I64});
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"argmax", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"argmin", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_max_dim", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_min_dim", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace

}  // namespace hw
