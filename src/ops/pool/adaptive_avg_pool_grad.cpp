// adaptive_avg_pool_grad: spreads each gradient over the window it came from.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static const Op adaptive_avg_pool_op{"adaptive_avg_pool"};

static Dims adaptive_grad_shape(const InferCtx& c) { return unpooled_shape(c, c.attr("spatial_axes").i64()); }

static const RegisterOp op =
    OpDef("adaptive_avg_pool_grad")
        .doc("The gradient of adaptive_avg_pool.")
        .in("dy", "the pooled shape", floating)
        .attr_required("input_shape", AttrValue::Kind::Ints)
        .attr_required("spatial_axes", AttrValue::Kind::Int, "how many of the last axes were pooled")
        .out("dx", dtype::same, adaptive_grad_shape)
        .internal()
        .flops(cost::per_output<1>)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, c.attr("spatial_axes").i64()); })
        .grad("",
              [](GradCtx& g) {
                const Dims& pooled = g.in_spec(0).shape;
                size_t spatial = static_cast<size_t>(g.attr("spatial_axes").i64());
                Dims size(std::span<const int64_t>(pooled.data() + (pooled.size() - spatial), spatial));
                g.dx(0, adaptive_avg_pool_op({g.dy()}, {size}));
              })
        .no_onnx("a gradient");

}  // namespace hw
