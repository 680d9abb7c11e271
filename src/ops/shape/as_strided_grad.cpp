// _as_strided_grad: the gradient of as_strided.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// The last element that sizes and strides reach, -1 if there is none.
static int64_t last_element(const Dims& size, const Dims& stride) {
  check_runtime(size.size() == stride.size(), "size ", size, " and stride ", stride, " differ in length");
  __int128 last = 0;
  bool empty = false;
  for (size_t i = 0; i < size.size(); ++i) {
    check_runtime(size[i] >= 0 && stride[i] >= 0, "sizes and strides cannot be negative, got ", size, " and ", stride);
    empty |= size[i] == 0;
    last += static_cast<__int128>(std::max<int64_t>(size[i] - 1, 0)) * stride[i];
    check_runtime(last < static_cast<__int128>(1) << 60, "strides ", stride, " reach too far");
  }
  return empty ? -1 : static_cast<int64_t>(last);
}

static Dims shape_of(const InferCtx& c) {
  const Dims &shape = c.attr("input_shape").ints(), &size = c.attr("size").ints();
  const int64_t room = last_element(shape, c.attr("input_strides").ints());
  const int64_t last = last_element(size, c.attr("stride").ints()), offset = c.attr("storage_offset").i64();
  check_runtime(c.in[0].shape == size, "x is ", c.in[0], ", the view has shape ", size);
  check_runtime(last < 0 || (offset >= 0 && offset <= room - last), "the view reaches element ", offset, " + ", last,
                ", the input has ", room + 1);
  return shape;
}

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
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
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
