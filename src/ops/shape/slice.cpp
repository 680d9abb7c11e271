// _slice: every step-th index of a range of one axis; bounds as in Python.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

struct Range {
  int64_t start, count;
};
static Range range(const TensorSpec& x, size_t axis, const Attrs& attrs) {
  check_runtime(x.ndim() > 0, "a 0-d tensor cannot be sliced");
  int64_t size = x.shape[axis], step = attrs[3].i64();
  check(step > 0, "slice steps must be positive, got ", step);
  auto bound = [size](const AttrValue& v, int64_t otherwise) {
    if (v.none()) return otherwise;
    return std::clamp<int64_t>(v.i64() < 0 ? v.i64() + size : v.i64(), 0, size);
  };
  int64_t start = bound(attrs[1], 0), end = std::max(start, bound(attrs[2], size));
  return {start, end > start ? (end - start - 1) / step + 1 : 0};
}

static View view(const TensorSpec& x, const Attrs& attrs) {
  size_t axis = static_cast<size_t>(normalize_axis(attrs[0].i64(), x.ndim()));
  Range r = range(x, axis, attrs);
  View v{x.shape, x.strides};
  v.offset = r.count ? r.start * x.strides[axis] : 0;
  v.shape[axis] = r.count;
  v.strides[axis] *= attrs[3].i64();
  return v;
}

static const RegisterOp op =
    OpDef("_slice")
        .doc("Returns a view of the elements start, start + step, ... before `end` along `dim`.")
        .in("input", "at least one axis")
        .attr("dim", int64_t{0}, "the axis")
        .attr_none("start", AttrValue::Kind::Int, "the first index")
        .attr_none("end", AttrValue::Kind::Int, "the index after the last")
        .attr("step", int64_t{1}, "at least 1")
        .out("y", dtype::same, nullptr)
        .view(view)
        .internal()
        .sbp([](SbpCtx& c) { add_other_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim())); })
        .grad("",
              [](GradCtx& g) {
                const TensorSpec& x = g.in_spec(0);
                int64_t axis = normalize_axis(g.attr("dim").i64(), x.ndim());
                Range r = range(x, static_cast<size_t>(axis), g.attrs());
                g.dx(0, slice_grad(g.dy(), x.shape, axis, r.start, g.attr("step").i64()));
              })
        .onnx("Slice");

}  // namespace hw
