// _diagonal_grad: zeros with a diagonal filled in; the gradient of diagonal.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// That x is the diagonal of a tensor of the given size.
static Dims shape_of(const InferCtx& c) {
  Dims size = shape::size(c), diagonal;
  const int64_t n = static_cast<int64_t>(size.size()), offset = c.attr("offset").i64();
  const int64_t a = normalize_axis(c.attr("dim1").i64(), n), b = normalize_axis(c.attr("dim2").i64(), n);
  check_runtime(n >= 2 && a != b && offset >= -(int64_t{1} << 60) && offset <= int64_t{1} << 60, "size ", size,
                " has no diagonal ", offset, " in the plane of axes ", a, " and ", b);
  for (int64_t i = 0; i < n; ++i)
    if (i != a && i != b) diagonal.push_back(size[static_cast<size_t>(i)]);
  const int64_t rows = size[static_cast<size_t>(a)], columns = size[static_cast<size_t>(b)];
  diagonal.push_back(
      std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns)));
  check_runtime(c.in[0].shape == diagonal, "x is ", c.in[0], ", the diagonal has shape ", diagonal);
  return size;
}

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
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) { c.add({partial_sum()}, {partial_sum()}); })
        .grad("",
              [](GradCtx& g) {
                static const Op diagonal{"diagonal"};
                g.dx(0, diagonal({g.dy()}, {g.attr("offset").i64(), g.attr("dim1").i64(), g.attr("dim2").i64()}));
              })
        .onnx("ScatterND");

}  // namespace hw
