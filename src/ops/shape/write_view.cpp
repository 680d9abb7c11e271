// _write_view: a tensor with a strided part of it replaced; what an in-place write through a view is in a graph.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const TensorSpec& x = c.in[0];
  const Dims &size = c.attr("size").ints(), &stride = c.attr("stride").ints();
  check(size.size() == stride.size(), "size ", size, " and stride ", stride, " differ in length");
  check(c.in[1].shape == size, "value is ", c.in[1], ", the part has shape ", size);
  int64_t room = x.numel() ? 1 : 0, last = c.attr("storage_offset").i64();
  for (size_t i = 0; i < x.shape.size() && room; ++i)
    room += (x.shape[i] - 1) * (x.strides.empty() ? contiguous_strides(x.shape)[i] : x.strides[i]);
  check(last >= 0, "storage_offset cannot be negative, got ", last);
  for (size_t i = 0; i < size.size(); ++i) {
    check(size[i] >= 0 && stride[i] >= 0, "sizes and strides cannot be negative, got ", size, " and ", stride);
    if (size[i] == 0) return x.shape;
    int64_t reach = 0;
    check(!__builtin_mul_overflow(size[i] - 1, stride[i], &reach) && !__builtin_add_overflow(last, reach, &last),
          "strides ", stride, " reach beyond 2^63 - 1 elements");
  }
  check(last < room, "the part reaches element ", last, " of ", room);
  return x.shape;
}

static const RegisterOp op =
    OpDef("_write_view")
        .doc(
            "Returns a copy of x, with the strides of x, in which the elements that as_strided(x, size, stride, "
            "storage_offset) shows are those of value.")
        .in("x", "any shape, without overlap")
        .in("value", "shape `size`")
        .attr_required("size", AttrValue::Kind::Ints, "sizes of the part")
        .attr_required("stride", AttrValue::Kind::Ints, "strides of the part, in elements")
        .attr_required("storage_offset", AttrValue::Kind::Int, "its first element, from the first of x")
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp(sbp::broadcast_only)
        .no_grad("made by capture, after the gradient was taken")
        .no_onnx("internal");

}  // namespace hw
