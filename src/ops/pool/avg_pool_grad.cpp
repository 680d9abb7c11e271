// avg_pool_grad: spreads each gradient over the window it came from.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static const Op avg_pool_op{"avg_pool"};

static Dims avg_pool_grad_shape(const InferCtx& c) {
  return unpooled_shape(c, static_cast<int64_t>(c.attr("kernel_size").ints().size()));
}

static const RegisterOp op =
    OpDef("avg_pool_grad")
        .doc("The gradient of avg_pool.")
        .in("dy", "the pooled shape", floating)
        .attr_required("input_shape", AttrValue::Kind::Ints)
        .attr_required("kernel_size", AttrValue::Kind::Ints)
        .attr_required("stride", AttrValue::Kind::Ints)
        .attr_required("padding", AttrValue::Kind::Ints)
        .attr("ceil_mode", false)
        .attr("count_include_pad", true)
        .attr_none("divisor_override", AttrValue::Kind::Int)
        .out("dx", dtype::same, avg_pool_grad_shape)
        .internal()
        .flops(cost::window_gradient)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, static_cast<int64_t>(c.attr("kernel_size").ints().size())); })
        .grad("",
              [](GradCtx& g) {
                const Attrs& a = g.attrs();
                g.dx(0, avg_pool_op({g.dy()}, {a[1], a[2], a[3], a[4], a[5], a[6]}));
              })
        .no_onnx("a gradient");

}  // namespace hw
