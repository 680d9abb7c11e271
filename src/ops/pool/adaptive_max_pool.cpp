// adaptive_max_pool: the largest values over windows that divide the last axes into output_size parts.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/pool/pools.h"

namespace hw {

static const Op max_pool_grad{"max_pool_grad"};

static const RegisterOp op =
    OpDef("adaptive_max_pool")
        .doc(
            "The largest values over windows that divide the last axes into output_size parts, and their flat indices.")
        .in("input", "[..., spatial axes]", integral | floating)
        .attr_required("output_size", AttrValue::Kind::Ints)
        .out("y", dtype::same, adaptive_shape)
        .out("indices", dtype::int64, adaptive_shape)
        .internal()
        .flops(cost::scanning)
        .sbp([](SbpCtx& c) { sbp::leading_axes(c, static_cast<int64_t>(c.attr("output_size").ints().size())); })
        .grad("indices",
              [](GradCtx& g) {
                int64_t ndim = static_cast<int64_t>(g.attr("output_size").ints().size());
                g.dx(0, max_pool_grad({g.dy(), g.out(1)}, {g.in_spec(0).shape, ndim}));
              })
        .onnx("GlobalMaxPool or MaxPool, where the windows are equal");

}  // namespace hw
