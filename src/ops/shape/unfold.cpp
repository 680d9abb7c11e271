// unfold: a view of sliding windows.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  const size_t axis = static_cast<size_t>(normalize_axis(attrs[0].i64(), x.ndim()));
  const int64_t size = attrs[1].i64(), step = attrs[2].i64(), n = x.shape.empty() ? 1 : x.shape[axis];
  check_runtime(size >= 0 && size <= n, "size ", size, " of the windows is not in [0, ", n, "], the size of axis ",
                static_cast<int64_t>(axis));
  check_runtime(step > 0, "step must be positive, got ", step);
  View v{x.shape, x.strides};
  if (x.shape.empty()) {
    v.shape.push_back(size);
    v.strides.push_back(1);
    return v;
  }
  v.shape[axis] = (n - size) / step + 1;
  if (v.shape[axis] > 1) v.strides[axis] *= step;
  v.shape.push_back(size);
  v.strides.push_back(x.strides[axis]);
  return v;
}

static const RegisterOp op =
    OpDef("unfold")
        .doc(
            "Returns a view of all windows of `size` elements at distance `step` along `dimension`; the window is the "
            "new last axis.")
        .in("input", "any shape")
        .attr_required("dimension", AttrValue::Kind::Int, "the axis")
        .attr_required("size", AttrValue::Kind::Int, "elements of a window")
        .attr_required("step", AttrValue::Kind::Int, "from one window to the next")
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) {
          if (c.in()[0].ndim() > 0) add_other_axes(c, normalize_axis(c.attr("dimension").i64(), c.in()[0].ndim()));
        })
        .grad("",
              [](GradCtx& g) {
                static const Op fill{"_unfold_grad"};
                const TensorSpec& x = g.in_spec(0);
                g.dx(0, fill({g.dy()}, {x.shape, normalize_axis(g.attr("dimension").i64(), x.ndim()),
                                        g.attr("size").i64(), g.attr("step").i64()}));
              })
        .onnx("Gather");

}  // namespace hw
