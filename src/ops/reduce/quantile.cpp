// quantile: elements by their rank among the others.
#include "op/op_def.h"
#include "ops/reduce/quantiles.h"

namespace hw {

static const RegisterOp op =
    OpDef("quantile")
        .doc(
            "Returns the quantiles of the elements along `dim`, or of all: q = 0.5 is the median. NaN among them wins.")
        .example(">>> hw.quantile(hw.tensor([0.0, 1.0, 4.0]), 0.75)\ntensor(2.5000)")
        .in("input", "any shape", floating)
        .in("q", "a fraction between 0 and 1, or a vector of them in the input's dtype")
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: the flattened input")
        .attr("keepdim", false, "whether the axis stays with size 1")
        .attr("interpolation", "linear", "between two elements: linear, lower, higher, midpoint or nearest")
        .keyword()
        .out("y")
        .composite(
            [](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return {quantiles(in, attrs, false)}; });

}  // namespace hw
