// cumsum, cumprod, cummax and cummin: lines and blocks of lines for the instruction set in use.
#include "backends/cpu/reduce/scan.h"

namespace hw {

namespace {

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const TensorSpec& x = request.inputs[0];
  const bool sums = request.op == "cumsum" || request.op == "cumprod";
  if (x.ndim() > 0) spec.axes = {normalize_axis(request.attrs[0].i64(), x.ndim())};
  DType d = request.outputs[0].dtype;
  if (is_complex(d)) return why_not = "complex", nullptr;
  if (!is_floating(d)) d = sums || d == DType::I64 ? DType::I64 : DType::I32;
  if (!spec.axes.empty() && x.shape[static_cast<size_t>(spec.axes[0])] >= int64_t{1} << 31)
    return why_not = "lines of 2^31 elements", nullptr;
  const ScanLines lines = find_scan_lines(request.op, d);
  spec.fn = lines.line;
  spec.block = lines.block;
  spec.block_sums = kScanSums;
  spec.block_least = 4;
  spec.in = {{LineRole::Whole, d}};
  spec.out = {{LineRole::Whole, d}};
  if (!sums) spec.out.push_back({LineRole::Whole, DType::I64});
  spec.cost = 2;
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered[] = {
    RegisterKernel({"cumsum", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"cumprod", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"cummax", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"cummin", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace

}  // namespace hw
