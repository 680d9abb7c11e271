// as_strided: any view of a storage.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  const Dims &size = attrs[0].ints(), &stride = attrs[1].ints();
  check(size.size() == stride.size(), "size has ", static_cast<int64_t>(size.size()), " axes, stride ",
        static_cast<int64_t>(stride.size()));
  int64_t offset = attrs[2].none() ? 0 : attrs[2].i64();
  bool empty = false;
  int64_t last = offset;
  for (size_t i = 0; i < size.size(); ++i) {
    check(size[i] >= 0 && stride[i] >= 0, "sizes and strides cannot be negative, got ", size, " and ", stride);
    empty |= size[i] == 0;
    int64_t reach = 0;
    check(!__builtin_mul_overflow(std::max<int64_t>(size[i] - 1, 0), stride[i], &reach) &&
              !__builtin_add_overflow(last, reach, &last),
          "strides ", stride, " reach beyond 2^63 - 1 elements");
  }
  int64_t room = x.numel();
  if (room)
    for (size_t i = 0, n = x.shape.size(); i < n; ++i) room = std::max(room, (x.shape[i] - 1) * x.strides[i] + 1);
  check(offset >= 0 && (empty || last < room), "size ", size, " with stride ", stride, " and offset ", offset,
        " reaches element ", last, ", beyond the ", room, " elements of ", x);
  return {size, stride, offset};
}

static const RegisterOp op =
    OpDef("as_strided")
        .doc(
            "Returns a view with the given sizes and strides. storage_offset counts from the first element of `input`.")
        .in("input", "any shape")
        .attr_required("size", AttrValue::Kind::Ints, "sizes of the view")
        .attr_required("stride", AttrValue::Kind::Ints, "strides of the view, in elements")
        .attr_none("storage_offset", AttrValue::Kind::Int, "the first element; default: that of input")
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp(sbp::broadcast_only)
        .grad("",
              [](GradCtx& g) {
                // Into zeros through the same view; elements shown several times collect all their gradients.
                static const Op scatter{"_as_strided_grad"};
                g.dx(0,
                     scatter({g.dy()},
                             {g.in_spec(0).shape, g.in_spec(0).strides, g.attr("size").ints(), g.attr("stride").ints(),
                              g.attr("storage_offset").none() ? int64_t{0} : g.attr("storage_offset").i64()}));
              })
        .no_onnx("ONNX tensors have no strides");

}  // namespace hw
