// amax: the largest element over some or all axes.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

static const RegisterOp op =
    OpDef("amax")
        .doc(
            "Returns the largest element over the axes `dim` (all axes by default). NaN wins. The gradient is shared "
            "evenly among "
            "equal elements.")
        .example(">>> hw.amax(hw.tensor([[1, 4], [3, 2]]), dim=1)\ntensor([4, 3])")
        .in("input", "any shape with elements along the reduced axes", real_types)
        .attr("dim", Dims(), "axis or axes; empty: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .out("y", dtype::same,
             [](const InferCtx& c) {
               Dims y = shape::reduced(c);
               check_index(numel(y) == 0 || c.in[0].numel() > 0, "nothing has no largest element: the input ", c.in[0],
                           " has no elements along the reduced axes");
               return y;
             })
        .flops(cost::per_input<1>)
        .sbp(sbp::reduce_max)
        .grad("input y",
              [](GradCtx& g) {
                Tensor mask = to(eq(g.in(0), with_reduced_axes(g, g.out())), g.out_spec(0).dtype);
                Tensor count = sum(mask, axes_of(g.attr("dim"), g.in_spec(0).ndim()), true);
                g.dx(0, with_reduced_axes(g, g.dy()) / count * mask);
              })
        .onnx("ReduceMax");

}  // namespace hw
