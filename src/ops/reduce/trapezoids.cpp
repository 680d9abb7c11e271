// The areas between neighbours, which trapezoid and cumulative_trapezoid sum.
#include "ops/reduce/trapezoids.h"

#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Tensor pair(const Tensor& t, int64_t dim, bool second) {
  return narrow(t, dim, second && t.size(dim) > 0 ? 1 : 0, std::max<int64_t>(t.size(dim) - 1, 0));
}

Tensor trapezoids(std::span<const Tensor> in, const Attrs& attrs) {
  const Tensor& y = in[0];
  check_runtime(y.ndim() > 0, "y needs at least one axis, got a 0-d tensor");
  const int64_t dim = normalize_axis(attrs[1].i64(), y.ndim());
  const Tensor sums = pair(y, dim, false) + pair(y, dim, true);
  if (!in[1].defined()) return sums * Scalar(attrs[0].scalar().f64() / 2);
  Tensor x = in[1];
  check_runtime(attrs[0].scalar().f64() == 1, "give either x or dx, not both");
  if (x.ndim() == 1 && y.ndim() > 1) {  // one row of places for all: along the axis
    check_runtime(x.size(0) == y.size(dim), "x has ", x.size(0), " places, y has ", y.size(dim), " along axis ", dim);
    Dims shape(static_cast<size_t>(y.ndim()), 1);
    shape[static_cast<size_t>(dim)] = x.size(0);
    x = reshape(x, shape);
  }
  while (x.ndim() < y.ndim()) x = unsqueeze(x, 0);
  check_runtime(x.ndim() == y.ndim() && (x.size(dim) == y.size(dim)), "x ", x, " does not fit y ", y, " along axis ",
                dim);
  return sums * (pair(x, dim, true) - pair(x, dim, false)) / Scalar(2.0);
}

}  // namespace hw
