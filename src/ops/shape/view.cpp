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

/// The shape is the same on all ranks, so only the axis written as -1 can be split: when an axis of the input begins at the
/// same element, and an index of it covers whole indices of the result's axis.
static void split_free_axis(SbpCtx& c) {
  const Dims &x = c.in()[0].shape, &y = c.out()[0].shape, &given = c.attr("shape").ints();
  c.add({partial_sum()}, {partial_sum()});
  if (numel(x) == 0) return;
  for (size_t j = 0; j < given.size(); ++j) {
    if (given[j] != -1) continue;
    int64_t before_y = 1, before_x = 1;
    for (size_t a = 0; a < j; ++a) before_y *= y[a];
    const int64_t within_y = numel(y) / before_y / y[j];
    for (size_t i = 0; i < x.size(); before_x *= x[i++]) {
      const int64_t within_x = numel(x) / before_x / x[i];
      if (before_x == before_y && x[i] > 1 && within_x % within_y == 0 && x[i] * within_x == y[j] * within_y)
        c.add({split(static_cast<int64_t>(i))}, {split(static_cast<int64_t>(j))});
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
        .sbp(split_free_axis)
        .grad("", [](GradCtx& g) { g.dx(0, reshape(g.dy(), g.in_spec(0).shape)); })
        .onnx("Reshape");

}  // namespace hw
