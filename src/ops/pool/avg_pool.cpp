// avg_pool: the mean of each window over the last axes.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static const Op avg_pool_grad{"avg_pool_grad"};

static const RegisterOp op =
    OpDef("avg_pool")
        .doc("The mean of each window over the last axes, as many as kernel_size has values.")
        .in("input", "[..., spatial axes]", floating)
        .attr_required("kernel_size", AttrValue::Kind::Ints)
        .attr_required("stride", AttrValue::Kind::Ints)
        .attr_required("padding", AttrValue::Kind::Ints)
        .attr("ceil_mode", false)
        .attr("count_include_pad", true)
        .attr_none("divisor_override", AttrValue::Kind::Int)
        .out("y", dtype::same, pooled_shape)
        .internal()
        .flops(cost::window)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, static_cast<int64_t>(c.attr("kernel_size").ints().size())); })
        .grad("",
              [](GradCtx& g) {
                const Attrs& a = g.attrs();
                g.dx(0, avg_pool_grad({g.dy()}, {g.in_spec(0).shape, a[0], a[1], a[2], a[3], a[4], a[5]}));
              })
        .onnx("AveragePool");

}  // namespace hw
