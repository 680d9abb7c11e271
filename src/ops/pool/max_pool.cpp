// max_pool: the largest value of each window over the last axes, and where it stands.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static const Op max_pool_grad{"max_pool_grad"};

static const RegisterOp op =
    OpDef("max_pool")
        .doc(
            "The largest value of each window over the last axes, and its flat index among them. As many axes as "
            "kernel_size has values.")
        .in("input", "[..., spatial axes]", integral | floating)
        .attr_required("kernel_size", AttrValue::Kind::Ints)
        .attr_required("stride", AttrValue::Kind::Ints)
        .attr_required("padding", AttrValue::Kind::Ints)
        .attr_required("dilation", AttrValue::Kind::Ints)
        .attr("ceil_mode", false)
        .out("y", dtype::same, pooled_shape)
        .out("indices", dtype::int64, pooled_shape)
        .internal()
        .flops(cost::window)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, static_cast<int64_t>(c.attr("kernel_size").ints().size())); })
        .grad("indices",
              [](GradCtx& g) {
                int64_t ndim = static_cast<int64_t>(g.attr("kernel_size").ints().size());
                g.dx(0, max_pool_grad({g.dy(), g.out(1)}, {g.in_spec(0).shape, ndim}));
              })
        .onnx("MaxPool");

}  // namespace hw
