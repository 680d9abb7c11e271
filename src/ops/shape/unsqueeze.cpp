// unsqueeze: a new axis of size 1.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  size_t at = static_cast<size_t>(normalize_axis(attrs[0].i64(), x.ndim() + 1));
  View v{x.shape, x.strides};
  v.strides.insert(at, at < x.shape.size() ? x.shape[at] * x.strides[at] : 1);
  v.shape.insert(at, 1);
  return v;
}

static const RegisterOp op = OpDef("unsqueeze")
                                 .doc("Returns a view with a new axis of size 1 at `dim`.")
                                 .in("input", "any shape")
                                 .attr_required("dim", AttrValue::Kind::Int, "where the new axis will be")
                                 .out("y", dtype::same, nullptr)
                                 .view(view)
                                 .sbp([](SbpCtx& c) {
                                   Dims to = axes_in_order(c.in()[0].ndim());
                                   int64_t at = normalize_axis(c.attr("dim").i64(), c.in()[0].ndim() + 1);
                                   for (int64_t& a : to) a += a >= at;
                                   add_moved_axes(c, to);
                                 })
                                 .grad("", [](GradCtx& g) { g.dx(0, reshape(g.dy(), g.in_spec(0).shape)); })
                                 .onnx("Unsqueeze");

}  // namespace hw
