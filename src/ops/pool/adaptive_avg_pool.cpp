// adaptive_avg_pool: means over windows that divide the last axes into output_size parts.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static const Op adaptive_avg_pool_grad{"adaptive_avg_pool_grad"};

static const RegisterOp op =
    OpDef("adaptive_avg_pool")
        .doc("Means over windows that divide the last axes into output_size parts.")
        .in("input", "[..., spatial axes]", floating)
        .attr_required("output_size", AttrValue::Kind::Ints)
        .out("y", dtype::same, adaptive_shape)
        .internal()
        .flops(cost::per_input<1>)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, static_cast<int64_t>(c.attr("output_size").ints().size())); })
        .grad("",
              [](GradCtx& g) {
                int64_t ndim = static_cast<int64_t>(g.attr("output_size").ints().size());
                g.dx(0, adaptive_avg_pool_grad({g.dy()}, {g.in_spec(0).shape, ndim}));
              })
        .onnx("GlobalAveragePool or AveragePool, where the windows are equal");

}  // namespace hw
