// select: one index of an axis.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static int64_t position(const TensorSpec& x, int64_t axis, int64_t index) {
  check_index(x.ndim() > 0, "select() does not apply to a 0-d tensor");
  int64_t size = x.shape[static_cast<size_t>(axis)];
  check_index(index >= -size && index < size, "index ", index, " is out of range for axis ", axis, " with size ", size);
  return index < 0 ? index + size : index;
}

static View view(const TensorSpec& x, const Attrs& attrs) {
  size_t axis = static_cast<size_t>(normalize_axis(attrs[0].i64(), x.ndim()));
  int64_t index = position(x, static_cast<int64_t>(axis), attrs[1].i64());
  View v{x.shape, x.strides, index * x.strides[axis]};
  v.shape.erase(axis);
  v.strides.erase(axis);
  return v;
}

static const RegisterOp op =
    OpDef("select")
        .doc("Returns a view of index `index` along `dim`, without that axis.")
        .in("input", "at least one axis")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("index", AttrValue::Kind::Int, "the index; negative counts from the end")
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) { add_other_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim()), true); })
        .grad("",
              [](GradCtx& g) {
                const TensorSpec& x = g.in_spec(0);
                int64_t axis = normalize_axis(g.attr("dim").i64(), x.ndim());
                g.dx(0,
                     slice_grad(unsqueeze(g.dy(), axis), x.shape, axis, position(x, axis, g.attr("index").i64()), 1));
              })
        .onnx("Gather");

}  // namespace hw
