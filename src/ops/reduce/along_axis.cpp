// Rules of the ops that pick one element along an axis; see the header.
#include "ops/reduce/along_axis.h"

#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

Dims nonempty_reduced(const InferCtx& c) {
  Dims y = shape::reduced(c);
  check_index(numel(y) == 0 || c.in[0].numel() > 0, "there is nothing to choose from: the input ", c.in[0],
              " has no elements along the axis ", c.attr("dim").i64());
  return y;
}

static void scatter(GradCtx& g, const Tensor& dy, const Tensor& index) {
  static const Op scatter_add{"scatter_add"};
  const TensorSpec& x = g.in_spec(0);
  if (x.ndim() == 0) return g.dx(0, reshape(dy, {}));
  g.dx(0, scatter_add({zeros(x.shape, dy.dtype()), index, dy}, {g.attr("dim").i64()}));
}

void scatter_to_index(GradCtx& g) {
  if (g.has_dy(0)) scatter(g, with_reduced_axes(g, g.dy(0)), with_reduced_axes(g, g.out(1)));
}

void scatter_add_to_index(GradCtx& g) {
  if (g.has_dy(0)) scatter(g, g.dy(0), g.out(1));
}

}  // namespace hw
