// _nonzero: nonzero when the number of rows is known.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_nonzero")
        .doc("Returns the indices of the first `count` elements that are not zero, [count, axes of the input].")
        .in("input", "any shape")
        .attr_required("count", AttrValue::Kind::Int, "what _nonzero_count returned")
        .out("y", dtype::int64,
             [](const InferCtx& c) {
               return Dims{c.attr("count").i64(), c.in[0].ndim()};
             })
        .internal()
        .sbp(sbp::broadcast_only)
        .no_grad("the output is an integer")
        .onnx("NonZero");

}  // namespace hw
