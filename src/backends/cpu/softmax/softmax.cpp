// Softmax and its family along any axis: rows by SIMD, strided axes gathered several rows at a time.
#include "backends/cpu/softmax/softmax.h"

namespace hw {

static std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const TensorSpec& x = request.inputs[0];
  const bool grad = request.inputs.size() == 2;
  DType d = request.outputs[0].dtype;
  if (x.dtype != d || request.inputs.back().dtype != d) d = d == DType::F64 ? d : DType::F32;
  if (!is_floating(d)) return why_not = "complex", nullptr;
  if (x.ndim() > 0) spec.axes = {normalize_axis(request.attrs[0].i64(), x.ndim())};
  spec.fn = find_softmax_row(request.op, d);
  spec.in.assign(grad ? 2 : 1, {LineRole::Whole, d});
  spec.out = {{LineRole::Whole, d}};
  spec.scratch = is_reduced(d) && request.op == "softmax" ? 4 : 0;
  const int64_t wide = d == DType::F64 ? 8 : 4;
  spec.block = find_softmax_block(request.op, d);
  spec.block_scratch = grad ? 0 : wide;
  spec.block_sums = 2 * wide;
  spec.block_least = is_reduced(d) ? 16 : 8;  // the last, partial vector of 16-bit elements is slow
  spec.cost = 4;
  return make_line_kernel(request, std::move(spec), why_not);
}

static const RegisterKernel registered[] = {
    RegisterKernel({"softmax", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"log_softmax", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_softmax_grad", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_log_softmax_grad", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace hw
