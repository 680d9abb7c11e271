// argmax: the index of the largest element.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("argmax")
        .doc(
            "Returns the index of the largest element along the axis `dim`, or in the flattened input. The first of "
            "equal elements; "
            "NaN wins.")
        .example(">>> hw.argmax(hw.tensor([[1, 4], [3, 2]]), dim=1)\ntensor([1, 0])")
        .in("input", "any shape with elements along the axis", real_types)
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: the flattened input")
        .attr("keepdim", false, "whether the axis stays with size 1")
        .out("y", dtype::int64,
             [](const InferCtx& c) {
               Dims y = shape::reduced(c);
               check_index(numel(y) == 0 || c.in[0].numel() > 0, "nothing has no largest element: the input ", c.in[0],
                           " has no elements along the axis");
               return y;
             })
        .flops(cost::per_input<1>)
        .sbp([](SbpCtx& c) {
          if (!c.attr("dim").none()) sbp::reduce_plain(c);
        })
        .no_grad("the output is an index")
        .onnx("ArgMax");

}  // namespace hw
