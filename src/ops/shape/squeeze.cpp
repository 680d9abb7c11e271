// squeeze: axes of size 1 left out.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

/// For each axis whether it goes.
static Dims dropped(const TensorSpec& x, const AttrValue& dim) {
  Dims drop(x.shape.size(), dim.none());
  if (!dim.none() && !as_list(dim).empty())
    for (int64_t axis : normalize_axes(as_list(dim), x.ndim())) drop[static_cast<size_t>(axis)] = 1;
  for (size_t i = 0; i < drop.size(); ++i) drop[i] = drop[i] && x.shape[i] == 1;
  return drop;
}

static View view(const TensorSpec& x, const Attrs& attrs) {
  View v;
  Dims drop = dropped(x, attrs[0]);
  for (size_t i = 0; i < drop.size(); ++i) {
    if (drop[i]) continue;
    v.shape.push_back(x.shape[i]);
    v.strides.push_back(x.strides[i]);
  }
  return v;
}

static const RegisterOp op = OpDef("squeeze")
                                 .doc("Returns a view without the axes of size 1: all of them, or those in `dim`.")
                                 .in("input", "any shape")
                                 .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all of size 1")
                                 .out("y", dtype::same, nullptr)
                                 .view(view)
                                 .sbp([](SbpCtx& c) {
                                   // An axis that may go must not be split: a rank might hold one element of it, and drop it.
                                   if (c.attr("dim").none()) return;
                                   const TensorSpec& x = c.in()[0];
                                   Dims drop = dropped(x, c.attr("dim")), to;
                                   int64_t next = 0;
                                   for (int64_t d : drop) to.push_back(d ? -1 : next++);
                                   if (x.ndim() > 0 && !as_list(c.attr("dim")).empty())
                                     for (int64_t axis : normalize_axes(as_list(c.attr("dim")), x.ndim()))
                                       to[static_cast<size_t>(axis)] = -1;
                                   add_moved_axes(c, to);
                                 })
                                 .grad("", [](GradCtx& g) { g.dx(0, reshape(g.dy(), g.in_spec(0).shape)); })
                                 .onnx("Squeeze");

}  // namespace hw
