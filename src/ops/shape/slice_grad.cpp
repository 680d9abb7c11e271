// _slice_grad: zeros with a range of one axis filled in; the gradient of narrow, select and _slice.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

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
        .out("y", dtype::same, shape::size)
        .internal()
        .sbp([](SbpCtx& c) { c.add({partial_sum()}, {partial_sum()}); })
        .grad("",
              [](GradCtx& g) {
                static const Op slice{"_slice"};
                int64_t axis = g.attr("dim").i64(), start = g.attr("start").i64(), step = g.attr("step").i64();
                int64_t count = g.in_spec(0).shape[static_cast<size_t>(axis)];
                g.dx(0, slice({g.dy()}, {axis, start, count ? start + (count - 1) * step + 1 : start, step}));
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
