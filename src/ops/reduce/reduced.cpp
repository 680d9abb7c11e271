// Axes of reductions; see the header.
#include "ops/reduce/reduced.h"

#include "op/math.h"

namespace hw {

Dims axes_of(const AttrValue& dim, int64_t ndim) {
  if (dim.none()) return normalize_axes({}, ndim);
  if (dim.kind() == AttrValue::Kind::Int) return normalize_axes(Dims{dim.i64()}, ndim);
  return normalize_axes(dim.ints(), ndim);
}

Tensor with_reduced_axes(const GradCtx& g, const Tensor& t) {
  const TensorSpec& x = g.in_spec(0);
  Dims shape = reduced_shape(x.shape, axes_of(g.attr("dim"), x.ndim()), true);
  return t.shape() == shape ? t : reshape(t, std::move(shape));
}

int64_t reduced_count(const TensorSpec& x, const AttrValue& dim) {
  int64_t n = 1;
  for (int64_t axis : axes_of(dim, x.ndim())) n *= x.ndim() ? x.shape[static_cast<size_t>(axis)] : 1;
  return n;
}

}  // namespace hw
