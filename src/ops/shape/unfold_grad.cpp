// _unfold_grad: windows added up where they came from; the gradient of unfold.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_unfold_grad")
        .doc("Returns zeros of the shape `input_sizes` to which every window is added at its place.")
        .in("input", "the shape of the windows")
        .attr_required("input_sizes", AttrValue::Kind::Ints, "the shape of the result")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .attr_required("size", AttrValue::Kind::Int, "elements of a window")
        .attr_required("step", AttrValue::Kind::Int, "from one window to the next")
        .out("y", dtype::same, [](const InferCtx& c) { return c.attr("input_sizes").ints(); })
        .internal()
        .sbp([](SbpCtx& c) { c.add({partial_sum()}, {partial_sum()}); })
        .grad("",
              [](GradCtx& g) {
                static const Op unfold{"unfold"};
                g.dx(0, unfold({g.dy()}, {g.attr("dim").i64(), g.attr("size").i64(), g.attr("step").i64()}));
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
