// max_pool_grad: sends each gradient to the place that max_pool took its value from.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static Dims max_pool_grad_shape(const InferCtx& c) { return unpooled_shape(c, c.attr("spatial_axes").i64()); }

/// The transpose: reads the places that the indices name.
static void max_pool_grad_grad(GradCtx& g) {
  static const Op gather{"gather"};
  Tensor dx = g.dy();
  const Tensor& indices = g.in(1);
  int64_t spatial = g.attr("spatial_axes").i64(), leading = dx.ndim() - spatial;
  Dims shape(std::span<const int64_t>(dx.shape().data(), static_cast<size_t>(leading))), pooled = shape;
  shape.push_back(-1), pooled.push_back(-1);
  if (dx.numel() == 0 || indices.numel() == 0) {
    g.dx(0, zeros(indices.shape(), dx.dtype()));
    return;
  }
  Tensor taken = gather({reshape(dx, shape), reshape(indices, pooled)}, {leading});
  g.dx(0, reshape(taken, indices.shape()));
}

static const RegisterOp op =
    OpDef("max_pool_grad")
        .doc("The gradient of a max pool: dy summed into zeros of input_shape at the given flat indices of each plane.")
        .in("dy", "the pooled shape", floating)
        .in("indices", "the pooled shape", dtype_bit(DType::I64))
        .attr_required("input_shape", AttrValue::Kind::Ints)
        .attr_required("spatial_axes", AttrValue::Kind::Int, "how many of the last axes were pooled")
        .out("dx", dtype::same, max_pool_grad_shape)
        .internal()
        .flops(cost::scanning)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, c.attr("spatial_axes").i64()); })
        .grad("indices", max_pool_grad_grad)
        .no_onnx("a gradient");

}  // namespace hw
