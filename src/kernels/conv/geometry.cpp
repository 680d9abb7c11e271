// Reads a convolution op as sizes; see the header.
#include "kernels/conv/geometry.h"

#include "base/error.h"

namespace hw {

bool ConvGeometry::pointwise() const {
  for (int a = 0; a < 3; ++a)
    if (kernel[a] != 1 || stride[a] != 1 || padding[a] != 0) return false;
  return true;
}

Strides5 strides5(const TensorSpec& spec) {
  Strides5 r{{spec.strides[0], spec.strides[1], 0, 0, 0}};
  int64_t ndim = spec.ndim() - 2;
  for (int64_t a = 0; a < ndim; ++a) r.s[5 - ndim + a] = spec.strides[2 + a];
  return r;
}

static void read_spatial(const AttrValue& attr, int ndim, int64_t (&to)[3], std::string_view op, const char* what) {
  const Dims& values = attr.ints();
  check(static_cast<int>(values.size()) == ndim || values.size() == 1, op, ": ", what, " has ", values.size(),
        " values, there are ", ndim, " spatial axes");
  for (int a = 0; a < ndim; ++a) to[3 - ndim + a] = values[values.size() == 1 ? 0 : static_cast<size_t>(a)];
}

bool read_convolution(const KernelRequest& request, ConvRequest& out, std::string& why_not) {
  std::string_view op = request.op;
  out = {};
  size_t attr = 1;  // the gradients begin with the shape of their result
  if (op == "convolution_input_grad") {
    out.pass = ConvPass::InputGrad;
    out.y = request.inputs[0], out.w = request.inputs[1], out.x = request.outputs[0];
  } else if (op == "convolution_weight_grad") {
    out.pass = ConvPass::WeightGrad;
    out.y = request.inputs[0], out.x = request.inputs[1], out.w = request.outputs[0];
  } else {
    attr = 0;
    out.x = request.inputs[0], out.w = request.inputs[1], out.y = request.outputs[0];
    out.has_bias = request.inputs.size() > 2 && request.inputs[2].given();
  }
  for (const TensorSpec* t : {&out.w, &out.y})
    if (t->dtype != out.x.dtype) {
      why_not = text("inputs of different dtypes: ", out.x.dtype, " and ", t->dtype);
      return false;
    }
  check(out.x.ndim() >= 3 && out.x.ndim() <= 5 && out.w.ndim() == out.x.ndim() && out.y.ndim() == out.x.ndim(), op,
        ": needs 1 to 3 spatial axes, the same in all operands, got ", out.x, ", ", out.w, " and ", out.y);
  ConvGeometry& g = out.geometry;
  g.ndim = static_cast<int>(out.x.ndim()) - 2;
  g.batch = out.x.shape[0], g.in_channels = out.x.shape[1], g.out_channels = out.w.shape[0];
  for (int a = 0; a < g.ndim; ++a) {
    int to = 3 - g.ndim + a;
    g.in[to] = out.x.shape[2 + a], g.out[to] = out.y.shape[2 + a], g.kernel[to] = out.w.shape[2 + a];
  }
  read_spatial(request.attrs[attr], g.ndim, g.stride, op, "stride");
  read_spatial(request.attrs[attr + 1], g.ndim, g.padding, op, "padding");
  read_spatial(request.attrs[attr + 2], g.ndim, g.dilation, op, "dilation");
  g.groups = request.attrs[attr + 3].i64();
  check(
      g.groups > 0 && g.in_channels % g.groups == 0 && g.out_channels % g.groups == 0 && out.w.shape[1] == g.group_in(),
      op, ": ", g.in_channels, " input and ", g.out_channels, " output channels do not divide into ", g.groups,
      " groups with a weight of ", out.w);
  for (int a = 0; a < 3; ++a) check(g.stride[a] > 0 && g.dilation[a] > 0, op, ": stride and dilation must be positive");
  return true;
}

}  // namespace hw
