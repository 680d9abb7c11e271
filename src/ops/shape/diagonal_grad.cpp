// _diagonal_grad: zeros with a diagonal filled in; the gradient of diagonal.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_diagonal_grad")
        .doc(
            "Returns zeros of shape `size` with the diagonal `offset` of the planes of dim1 and dim2 taken from the "
            "last axis of the input.")
        .in("input", "the shape of the diagonal")
        .attr_required("size", AttrValue::Kind::Ints, "the shape of the result")
        .attr_required("offset", AttrValue::Kind::Int, "which diagonal")
        .attr_required("dim1", AttrValue::Kind::Int, "axis of the rows")
        .attr_required("dim2", AttrValue::Kind::Int, "axis of the columns")
        .out("y", dtype::same, shape::size)
        .internal()
        .sbp([](SbpCtx& c) { c.add({partial_sum()}, {partial_sum()}); })
        .grad("",
              [](GradCtx& g) {
                static const Op diagonal{"diagonal"};
                g.dx(0, diagonal({g.dy()}, {g.attr("offset").i64(), g.attr("dim1").i64(), g.attr("dim2").i64()}));
              })
        .onnx("ScatterND");

}  // namespace hw
