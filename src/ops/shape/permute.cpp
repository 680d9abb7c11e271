// permute: axes in another order.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

/// Normalised and checked to be a permutation.
static Dims order(const Dims& dims, int64_t ndim) {
  check_runtime(static_cast<int64_t>(dims.size()) == ndim, "dims ", dims, " names ", static_cast<int64_t>(dims.size()),
                " axes, the input has ", ndim);
  Dims out;
  for (int64_t d : dims) {
    int64_t axis = normalize_axis(d, ndim);
    for (int64_t other : out) check_runtime(other != axis, "axis ", axis, " appears twice in dims ", dims);
    out.push_back(axis);
  }
  return out;
}

static View view(const TensorSpec& x, const Attrs& attrs) {
  View v;
  for (int64_t axis : order(attrs[0].ints(), x.ndim())) {
    v.shape.push_back(x.shape[static_cast<size_t>(axis)]);
    v.strides.push_back(x.strides[static_cast<size_t>(axis)]);
  }
  return v;
}

static Dims inverse(const Dims& order) {
  Dims to(order.size());
  for (size_t i = 0; i < order.size(); ++i) to[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return to;
}

static const RegisterOp op =
    OpDef("permute")
        .doc("Returns a view with the axes in the order `dims`.")
        .example(">>> hw.permute(hw.zeros(2, 3, 5), (2, 0, 1)).shape\nheadwater.Size([5, 2, 3])")
        .in("input", "any shape")
        .attr_required("dims", AttrValue::Kind::Ints, "every axis once")
        .varargs()
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) { add_moved_axes(c, inverse(order(c.attr("dims").ints(), c.in()[0].ndim()))); })
        .grad("",
              [](GradCtx& g) { g.dx(0, permute(g.dy(), inverse(order(g.attr("dims").ints(), g.in_spec(0).ndim())))); })
        .onnx("Transpose");

}  // namespace hw
