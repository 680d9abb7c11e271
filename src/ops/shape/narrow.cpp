// narrow: a range of one axis.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

/// The first index, counted from the front.
static int64_t first(const TensorSpec& x, int64_t axis, int64_t start, int64_t length) {
  check_runtime(x.ndim() > 0, "a 0-d tensor cannot be narrowed");
  int64_t size = x.shape[static_cast<size_t>(axis)];
  check_runtime(length >= 0, "length cannot be negative, got ", length);
  check_index(start >= -size && start <= size, "start ", start, " is out of range for axis ", axis, " with size ",
              size);
  if (start < 0) start += size;
  check_runtime(length <= size - start, "start ", start, " + length ", length, " exceeds size ", size, " of axis ",
                axis);
  return start;
}

static View view(const TensorSpec& x, const Attrs& attrs) {
  int64_t axis = normalize_axis(attrs[0].i64(), x.ndim());
  int64_t start = first(x, axis, attrs[1].i64(), attrs[2].i64());
  View v{x.shape, x.strides};
  v.shape[static_cast<size_t>(axis)] = attrs[2].i64();
  v.offset = attrs[2].i64() ? start * x.strides[static_cast<size_t>(axis)] : 0;
  return v;
}

static const RegisterOp op =
    OpDef("narrow")
        .doc("Returns a view of the elements start, ..., start + length - 1 along `dim`.")
        .in("input", "at least one axis")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("start", AttrValue::Kind::Int, "the first index; negative counts from the end")
        .attr_required("length", AttrValue::Kind::Int, "how many")
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) { add_other_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim())); })
        .grad("",
              [](GradCtx& g) {
                const TensorSpec& x = g.in_spec(0);
                int64_t axis = normalize_axis(g.attr("dim").i64(), x.ndim());
                int64_t start = first(x, axis, g.attr("start").i64(), g.attr("length").i64());
                g.dx(0, slice_grad(g.dy(), x.shape, axis, start, 1));
              })
        .onnx("Slice");

}  // namespace hw
