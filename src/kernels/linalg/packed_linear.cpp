// Reads _linear_packed as sizes and strides; see the header.
#include "kernels/linalg/packed_linear.h"

#include "base/error.h"
#include "kernels/isa.h"

namespace hw {

int64_t packed_width() { return isa() == Isa::AVX512 ? 32 : isa() == Isa::AVX2 ? 24 : 16; }

static Activation activation_of(const std::string& name) {
  static const char* const names[kActivations] = {"none", "relu", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu"};
  for (int i = 0; i < kActivations; ++i)
    if (name == names[i]) return static_cast<Activation>(i);
  bug("no activation is called ", name);
}

/// The stride between rows, when all axes but the last can be walked with one. False if not.
static bool single_row_stride(const TensorSpec& spec, int64_t& row) {
  const int64_t ndim = spec.ndim();
  row = ndim > 0 ? spec.shape[ndim - 1] : 1;
  if (ndim > 0 && spec.shape[ndim - 1] > 1 && spec.strides[ndim - 1] != 1) return false;
  bool first = true;
  int64_t next = 0;  // the stride that the axis further out must have
  for (int64_t axis = ndim - 2; axis >= 0; --axis) {
    if (spec.shape[axis] == 1) continue;
    if (first)
      row = spec.strides[axis];
    else if (spec.strides[axis] != next)
      return false;
    first = false;
    next = spec.strides[axis] * spec.shape[axis];
  }
  return true;
}

bool read_packed_linear(const KernelRequest& request, PackedLinear& out, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &packed = request.inputs[1], &y = request.outputs[0];
  out = {};
  out.k = x.shape.back(), out.n = request.attrs[0].i64(), out.activation = activation_of(request.attrs[1].text());
  out.m = 1;
  for (int64_t axis = 0; axis + 1 < x.ndim(); ++axis) out.m *= x.shape[axis];
  out.width = packed.shape.back();
  check(out.width > 0 && packed.numel() == out.panels() * out.k * out.width, "_linear_packed: packed is ", packed,
        ", an input with ", out.k, " features to ", out.n, " needs ", out.panels() * out.k * out.width, " elements");
  out.has_bias = request.inputs.size() > 2 && request.inputs[2].given();
  out.has_residual = request.inputs.size() > 3 && request.inputs[3].given();
  if (!y.contiguous() || !packed.contiguous() || (out.has_bias && !request.inputs[2].contiguous())) {
    why_not = "the weight, the bias or the output is not contiguous";
    return false;
  }
  out.gather_x = out.m > 0 && !single_row_stride(x, out.x_row);
  if (out.gather_x) out.x_row = out.k;
  if (out.has_residual) out.gather_residual = out.m > 0 && !single_row_stride(request.inputs[3], out.residual_row);
  if (out.gather_residual) out.residual_row = out.n;
  return true;
}

}  // namespace hw
