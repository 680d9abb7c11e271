// Requests of layer normalisation as lines; see the header.
#include "kernels/lines/layer_norm.h"

namespace hw {

LineSpec layer_norm_lines(const KernelRequest& request, DType row, DType wide) {
  LineSpec spec;
  const bool grad = request.op == "_layer_norm_grad";
  const int64_t ndim = request.inputs[0].ndim();
  const int64_t count = grad ? request.attrs[0].i64() : static_cast<int64_t>(request.attrs[0].ints().size());
  for (int64_t axis = ndim - count; axis < ndim; ++axis) spec.axes.push_back(axis);
  const LineOperand whole{LineRole::Whole, row}, one{LineRole::PerLine, wide}, shared{LineRole::Shared, wide};
  if (grad) {
    spec.in = {whole, whole, one, one, shared};
    const bool affine = request.inputs[4].given();
    const LineOperand sum{LineRole::Shared, wide, !affine};
    spec.out = {whole, sum, sum};
    spec.out[2].skip = !affine || !request.attrs[1].truth();
  } else {
    spec.in = {whole, shared, shared};
    spec.out = {whole, one, one};
    spec.params = {request.attrs[1].f64()};
  }
  spec.cost = 3;
  return spec;
}

}  // namespace hw
