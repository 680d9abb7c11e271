// Layer and RMS normalisation: rows by SIMD, statistics in f32.
#include "backends/cpu/norm/layer_norm.h"

#include "kernels/lines/layer_norm.h"

namespace hw {

static std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  const bool grad = request.op == "_layer_norm_grad";
  const DType x = request.inputs[grad ? 1 : 0].dtype, wide = x == DType::F64 ? DType::F64 : DType::F32;
  const DType row = request.inputs[0].dtype == x && request.outputs[0].dtype == x ? x : wide;
  const bool centred = request.attrs[grad ? 1 : 2].truth();
  LineSpec spec = layer_norm_lines(request, row, wide);
  const LayerNormRows rows = find_layer_norm_rows(row, centred);
  spec.fn = grad ? rows.backward : rows.forward;
  return make_line_kernel(request, std::move(spec), why_not);
}

static const RegisterKernel registered[] = {
    RegisterKernel({"_layer_norm", "simd", DeviceType::CPU, 10, &prepare}),
    RegisterKernel({"_layer_norm_grad", "simd", DeviceType::CPU, 10, &prepare}),
};

}  // namespace hw
