// Rules that the matrix products share.
#include "ops/linalg/products.h"

#include "base/error.h"
#include "op/math.h"

namespace hw {

DType product_dtype(const InferCtx& c) {
  DType first = DType::None;
  for (const TensorSpec& s : c.in) {
    if (!s.given()) continue;
    if (first == DType::None) first = s.dtype;
    check_runtime(s.dtype == first, "all inputs must have the same dtype, got ", first, " and ", s.dtype,
                  ". Convert one with .to().");
  }
  return first;
}

Dims product_shape(const InferCtx& c, size_t a_index, size_t b_index, int64_t ndim) {
  const TensorSpec &a = c.in[a_index], &b = c.in[b_index];
  std::string_view a_name = c.op.inputs()[a_index].name, b_name = c.op.inputs()[b_index].name;
  check_runtime(a.ndim() == ndim && b.ndim() == ndim, a_name, " and ", b_name, " must have ", ndim, " axes, got ",
                a.shape, " and ", b.shape, ". matmul() takes any number of axes.");
  if (ndim == 3)
    check_runtime(a.shape[0] == b.shape[0], "batch sizes differ: ", a_name, " has ", a.shape[0], ", ", b_name, " has ",
                  b.shape[0], ". matmul() broadcasts them.");
  int64_t inner = a.shape[static_cast<size_t>(ndim - 1)], rows = b.shape[static_cast<size_t>(ndim - 2)];
  check_runtime(inner == rows, "inner sizes differ: ", a_name, " has ", inner, " columns, ", b_name, " has ", rows,
                " rows. Transpose one input, or swap them.");
  Dims out = a.shape;
  out.back() = b.shape.back();
  return out;
}

Tensor scaled(const Tensor& x, const Scalar& s) {
  return s == Scalar(1) || (s.kind() == Scalar::Kind::Float && s.f64() == 1) ? x : x * s;
}

Tensor adjoint(const Tensor& x) { return mT(conj(x)); }

namespace sbp {

void product(SbpCtx& c, size_t inputs, size_t a, bool batched) {
  int64_t row = batched ? 1 : 0;
  auto signature = [&](Sbp left, Sbp right, Sbp out, int64_t out_axis) {
    std::vector<Sbp> in(inputs);
    in[a] = left, in[a + 1] = right;
    for (size_t i = 0; i < inputs; ++i) {
      if (i == a || i == a + 1 || !c.in()[i].given()) continue;
      if (out.is_partial()) return;  // the addend would be summed once per rank
      const TensorSpec& addend = c.in()[i];
      int64_t axis = out_axis - (c.out()[0].ndim() - addend.ndim());
      if (axis >= 0 && addend.shape[static_cast<size_t>(axis)] != 1) in[i] = split(axis);
    }
    c.add(std::move(in), {out});
  };
  if (batched) signature(split(0), split(0), split(0), 0);
  signature(split(row), broadcast(), split(row), row);
  signature(broadcast(), split(row + 1), split(row + 1), row + 1);
  signature(split(row + 1), split(row), partial_sum(), -1);
  signature(partial_sum(), broadcast(), partial_sum(), -1);
  signature(broadcast(), partial_sum(), partial_sum(), -1);
}

}  // namespace sbp

}  // namespace hw
