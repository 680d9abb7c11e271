// _slice_grad: zeros with a range of one axis filled in; the gradient of narrow, select and _slice.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

/// That x is the slice of a tensor of the given size.
static Dims shape_of(const InferCtx& c) {
  Dims size = shape::size(c);
  const Dims& x = c.in[0].shape;
  const int64_t axis = c.attr("dim").i64(), start = c.attr("start").i64(), step = c.attr("step").i64();
  check_runtime(axis >= 0 && axis < static_cast<int64_t>(size.size()) && x.size() == size.size(), "x is ", c.in[0],
                ", which is no slice of ", size, " along axis ", axis);
  const size_t at = static_cast<size_t>(axis);
  for (size_t a = 0; a < x.size(); ++a)
    check_runtime(a == at || x[a] == size[a], "x is ", c.in[0], ", which is no slice of ", size, " along axis ", axis);
  check_runtime(start >= 0 && start <= size[at] && step > 0 &&
                    (x[at] == 0 || (start < size[at] && x[at] - 1 <= (size[at] - 1 - start) / step)),
                "the slice from ", start, " in steps of ", step, " with ", x[at], " elements exceeds size ", size[at]);
  return size;
}

static const RegisterOp op =
    OpDef("_slice_grad")
        .doc(
            "Returns zeros of shape `size` with the elements start, start + step, ... along `dim` taken from the "
            "input.")
        .in("input", "the shape of the slice")
        .attr_required("size", AttrValue::Kind::Ints, "the shape of the result")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("start", AttrValue::Kind::Int, "the first index")
        .attr_required("step", AttrValue::Kind::Int, "at least 1")
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) { add_other_axes(c, c.attr("dim").i64()); })
        .grad("",
              [](GradCtx& g) {
                static const Op slice{"_slice"};
                int64_t axis = g.attr("dim").i64(), start = g.attr("start").i64(), step = g.attr("step").i64();
                int64_t count = g.in_spec(0).shape[static_cast<size_t>(axis)];
                g.dx(0, slice({g.dy()}, {axis, start, count ? start + (count - 1) * step + 1 : start, step}));
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
