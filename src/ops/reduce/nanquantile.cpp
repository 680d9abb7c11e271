// nanquantile: quantiles of what is not NaN.
#include "op/op_def.h"
#include "ops/reduce/quantiles.h"

namespace hw {

static const RegisterOp op =
    OpDef("nanquantile")
        .doc("Returns the quantiles of the elements that are not NaN along `dim`, or of all.")
        .example(">>> hw.nanquantile(hw.tensor([0.0, float('nan'), 1.0]), 0.5)\ntensor(0.5000)")
        .in("input", "any shape", floating)
        .in("q", "a fraction between 0 and 1, or a vector of them in the input's dtype")
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: the flattened input")
        .attr("keepdim", false, "whether the axis stays with size 1")
        .attr("interpolation", "linear", "between two elements: linear, lower, higher, midpoint or nearest")
        .keyword()
        .out("y")
        .composite(
            [](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return {quantiles(in, attrs, true)}; });

}  // namespace hw
