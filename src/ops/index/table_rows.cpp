// Shapes and second derivatives of operators on rows of a table.
#include "ops/index/table_rows.h"

#include <algorithm>

#include "base/error.h"
#include "op/math.h"

namespace hw {

Dims rows_shape(const InferCtx& c) {
  check_runtime(c.in[1].ndim() == 2, "weight must have two axes, got ", c.in[1]);
  Dims shape = c.in[0].shape;
  shape.push_back(c.in[1].shape[1]);
  return shape;
}

void check_row_gradient(const InferCtx& c) {
  const Dims& dy = c.in[0].shape;
  check_runtime(
      dy.size() == c.in[1].shape.size() + 1 && std::equal(c.in[1].shape.begin(), c.in[1].shape.end(), dy.begin()),
      "dy is ", c.in[0], ", index ", c.in[1], ": dy must have one axis more");
}

void check_twice_differentiable(GradCtx& g) {
  check_runtime(!g.attr("scale_grad_by_freq").truth(), "embedding with scale_grad_by_freq has no second derivative");
}

void give_rows(GradCtx& g, Tensor rows) {
  const int64_t padding = g.attr("padding_idx").i64();
  if (padding >= 0) rows = where(unsqueeze(eq(g.in(1), number(Scalar(padding))), -1), zeros({}, rows.dtype()), rows);
  g.dx(0, rows);
}

}  // namespace hw
