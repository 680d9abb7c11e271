// _index_view: the basic part of x[...]: integers, slices, None and whole axes, as one view.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

/// Four numbers a step: 0 keep an axis; 1 select, index; 2 slice, start, stop, step; 3 a new axis. Indices are in range.
static View view(const TensorSpec& x, const Attrs& attrs) {
  const Dims& steps = attrs[0].ints();
  View v;
  size_t axis = 0;
  for (size_t i = 0; i + 3 < steps.size(); i += 4) {
    if (steps[i] == 3) {
      v.shape.push_back(1);
      v.strides.push_back(0);
      continue;
    }
    check_index(axis < x.shape.size(), "too many indices for ", x);
    int64_t size = x.shape[axis], stride = x.strides[axis];
    ++axis;
    if (steps[i] == 1) {
      check_index(steps[i + 1] >= 0 && steps[i + 1] < size, "index ", steps[i + 1], " is out of range for size ", size);
      v.offset += steps[i + 1] * stride;
      continue;
    }
    int64_t start = 0, stop = size, step = 1;
    if (steps[i] == 2) {
      start = steps[i + 1], stop = steps[i + 2], step = steps[i + 3];
      check_index(start >= 0 && stop >= start && stop <= size && step > 0, "slice ", start, ":", stop, ":", step,
                  " is out of range for size ", size);
    }
    int64_t count = (stop - start + step - 1) / step;
    if (count > 0) v.offset += start * stride;
    v.shape.push_back(count);
    v.strides.push_back(stride * step);
  }
  for (; axis < x.shape.size(); ++axis) {
    v.shape.push_back(x.shape[axis]);
    v.strides.push_back(x.strides[axis]);
  }
  return v;
}

/// Axes that are kept whole may be split.
static void split_kept_axes(SbpCtx& c) {
  const Dims &steps = c.attr("steps").ints(), &x = c.in()[0].shape;
  Dims to;
  int64_t out = 0;
  for (size_t i = 0; i + 3 < steps.size(); i += 4) {
    if (steps[i] != 3) {
      to.push_back(steps[i] == 0 ? out : -1);
    }
    out += steps[i] != 1;
  }
  while (to.size() < x.size()) to.push_back(out++);
  add_moved_axes(c, to);
}

static const RegisterOp op =
    OpDef("_index_view")
        .doc("The view that the basic part of an index selects; `steps` is the binding's encoding of it.")
        .in("input", "any shape")
        .attr_required("steps", AttrValue::Kind::Ints, "four numbers per step")
        .out("y", dtype::same, nullptr)
        .view(view)
        .internal()
        .sbp(split_kept_axes)
        .grad("",
              [](GradCtx& g) {
                static const Op copy{"copy_"}, index_view{"_index_view"};
                Tensor whole = zeros(g.in_spec(0).shape, g.dy().dtype());
                copy.inplace({index_view({whole}, {g.attr("steps").ints()}), g.dy()});
                g.dx(0, whole);
              })
        .onnx("Slice, Gather, Unsqueeze");

}  // namespace hw
