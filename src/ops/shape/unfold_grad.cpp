// _unfold_grad: windows added up where they came from; the gradient of unfold.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// That x holds the windows of a tensor of the given size.
static Dims shape_of(const InferCtx& c) {
  Dims size = c.attr("input_sizes").ints(), windows = size;
  const int64_t axis = c.attr("dim").i64(), width = c.attr("size").i64(), step = c.attr("step").i64();
  for (int64_t n : size) check_runtime(n >= 0, "a size cannot be negative, got ", size);
  check_runtime(axis >= 0 && axis < std::max<int64_t>(1, static_cast<int64_t>(size.size())), "axis ", axis,
                " is not in ", size);
  const int64_t n = size.empty() ? 1 : size[static_cast<size_t>(axis)];
  check_runtime(width >= 0 && width <= n && step > 0, "windows of ", width, " at distance ", step, " do not fit size ",
                n);
  if (!size.empty()) windows[static_cast<size_t>(axis)] = (n - width) / step + 1;
  windows.push_back(width);
  check_runtime(c.in[0].shape == windows, "x is ", c.in[0], ", the windows have shape ", windows);
  return size;
}

static const RegisterOp op =
    OpDef("_unfold_grad")
        .doc("Returns zeros of the shape `input_sizes` to which every window is added at its place.")
        .in("input", "the shape of the windows")
        .attr_required("input_sizes", AttrValue::Kind::Ints, "the shape of the result")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("size", AttrValue::Kind::Int, "elements of a window")
        .attr_required("step", AttrValue::Kind::Int, "from one window to the next")
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) { c.add({partial_sum()}, {partial_sum()}); })
        .grad("",
              [](GradCtx& g) {
                static const Op unfold{"unfold"};
                g.dx(0, unfold({g.dy()}, {g.attr("dim").i64(), g.attr("size").i64(), g.attr("step").i64()}));
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
