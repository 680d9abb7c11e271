// any: whether some element is true.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

/// An empty list means all axes in the sums, but no axis here in torch: neither is taken for granted.
static Dims shape_of_answer(const InferCtx& c) {
  const AttrValue& dim = c.attr("dim");
  check(dim.kind() != AttrValue::Kind::Ints || !dim.ints().empty(),
        "dim names no axis; leave it out to ask about all elements");
  return shape::reduced(c);
}

static const RegisterOp op =
    OpDef("any")
        .doc(
            "Returns whether any element along the axes `dim` (all by default) is not zero. uint8 gives uint8, as in "
            "torch.")
        .example(">>> hw.any(hw.tensor([[0, 1], [0, 0]]), dim=1)\ntensor([ True, False])")
        .in("input", "any shape")
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .out(
            "y", [](const InferCtx& c) { return c.in[0].dtype == DType::U8 ? DType::U8 : DType::Bool; },
            shape_of_answer)
        .flops(cost::per_input<1>)
        .sbp(sbp::reduce_max)
        .no_grad("the output is boolean")
        .onnx("ReduceMax(Cast(x, uint8))");

}  // namespace hw
