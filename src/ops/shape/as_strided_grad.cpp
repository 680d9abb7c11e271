// _as_strided_grad: the gradient of as_strided.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_as_strided_grad")
        .doc(
            "Returns zeros of the shape `input_shape` to which the input is added through the view of given size, "
            "stride "
            "and offset; elements that the view shows several times collect all of them.")
        .in("input", "the shape of the view")
        .attr_required("input_shape", AttrValue::Kind::Ints, "the shape of what was viewed")
        .attr_required("input_strides", AttrValue::Kind::Ints, "its strides")
        .attr_required("size", AttrValue::Kind::Ints, "the shape of the view")
        .attr_required("stride", AttrValue::Kind::Ints, "the strides of the view")
        .attr_required("storage_offset", AttrValue::Kind::Int, "the first element of the view")
        .out("y", dtype::same, [](const InferCtx& c) { return c.attr("input_shape").ints(); })
        .internal()
        .sbp(sbp::broadcast_only)
        .grad("",
              [](GradCtx& g) {
                // The view again, of a gradient laid out as the input was.
                static const Op view{"as_strided"}, empty{"empty_strided"}, copy{"copy_"};
                const Dims& strides = g.attr("input_strides").ints();
                Tensor dy = g.dy();
                if (dy.strides() != strides)
                  dy = copy.inplace({empty({}, {g.attr("input_shape").ints(), strides, dy.dtype()}), dy});
                g.dx(0, view({dy}, {g.attr("size").ints(), g.attr("stride").ints(), g.attr("storage_offset").i64()}));
              })
        .no_onnx("ONNX tensors have no strides");

}  // namespace hw
