// argmin: the index of the smallest element.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("argmin")
        .doc(
            "Returns the index of the smallest element along the axis `dim`, or in the flattened input. The first of "
            "equal elements; "
            "NaN wins.")
        .example(">>> hw.argmin(hw.tensor([[1, 4], [3, 2]]), dim=1)\ntensor([0, 1])")
        .in("input", "any shape with elements along the axis", real_types)
        .attr_none("dim", AttrValue::Kind::Int, "the axis; None: the flattened input")
        .attr("keepdim", false, "whether the axis stays with size 1")
        .out("y", dtype::int64,
             [](const InferCtx& c) {
               Dims y = shape::reduced(c);
               check_index(numel(y) == 0 || c.in[0].numel() > 0, "nothing has no smallest element: the input ", c.in[0],
                           " has no elements along the axis");
               return y;
             })
        .flops(cost::per_input<1>)
        .sbp([](SbpCtx& c) {
          if (!c.attr("dim").none()) sbp::reduce_plain(c);
        })
        .no_grad("the output is an index")
        .onnx("ArgMin");

}  // namespace hw
