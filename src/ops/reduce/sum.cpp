// sum: the sum over some or all axes.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

static const RegisterOp op =
    OpDef("sum")
        .doc("Returns the sum over the axes `dim` (all axes by default). Integers and bool are summed as int64.")
        .example(">>> hw.sum(hw.tensor([[1, 2], [3, 4]]), dim=0)\ntensor([4, 6])")
        .in("input", "any shape")
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes to sum over; None or empty: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
        .keyword()
        .out("y", dtype::accumulated, shape::reduced)
        .autocast(Autocast::F32)
        .flops(cost::per_input<1>)
        .sbp(sbp::reduce_sum)
        .grad("", [](GradCtx& g) { g.dx(0, expand(with_reduced_axes(g, g.dy()), g.in_spec(0).shape)); })
        .onnx("ReduceSum");

}  // namespace hw
