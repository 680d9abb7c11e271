// view: another shape for the same memory.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/view_strides.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  View v;
  v.shape = resolved_shape(x.shape, attrs[0].ints());
  check_runtime(view_strides(x.shape, x.strides, v.shape, v.strides), "the input with strides ", x.strides,
                " cannot be seen as ", v.shape, " without copying; use reshape()");
  return v;
}

/// Axes of input and result that begin at the same element, and of which an index covers whole indices of the other: where a rank's
/// part of one is its part of the other, each rank views its part under its own shape. That sizes divide is seen when ranks are known.
static void split_leading_axes(SbpCtx& c) {
  const Dims &x = c.in()[0].shape, &y = c.out()[0].shape;
  c.add({partial_sum()}, {partial_sum()});
  if (numel(x) == 0) return;
  size_t i = 0, j = 0;
  int64_t within_x = numel(x), within_y = within_x;  // elements from axis i, j on
  while (i < x.size() && j < y.size()) {
    if (within_x == within_y && x[i] > 1 && y[j] > 1)
      c.add({split(static_cast<int64_t>(i))}, {split(static_cast<int64_t>(j))});
    if (x[i] == 1 || (within_x > within_y && y[j] > 1)) {
      within_x /= x[i++];
    } else if (y[j] == 1 || within_y > within_x) {
      within_y /= y[j++];
    } else {
      within_x /= x[i++];
      within_y /= y[j++];
    }
  }
}

static const RegisterOp op =
    OpDef("view")
        .doc("Returns a view of the same memory under another shape. One size may be -1 and is worked out.")
        .in("input", "any shape")
        .attr_required("shape", AttrValue::Kind::Ints, "the new shape")
        .varargs()
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp(split_leading_axes)
        .grad("", [](GradCtx& g) { g.dx(0, reshape(g.dy(), g.in_spec(0).shape)); })
        .onnx("Reshape");

}  // namespace hw
