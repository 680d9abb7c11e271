// _softmax_grad: y (dy - sum(dy y)), the gradient of softmax.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_softmax_grad")
        .doc("The gradient of softmax: y (dy - sum(dy y)) along the axis `dim`.")
        .in("dy", "gradient of y", floating)
        .in("y", "the result of softmax", floating)
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .out(
            "dx", [](const InferCtx& c) { return c.in[1].dtype; }, shape::same)
        .internal()
        .flops(cost::per_input<4>)
        .sbp(sbp::along_dim)
        .grad("dy y",
              [](GradCtx& g) {
                static const Op grad{"_softmax_grad"};
                const int64_t dim = g.attr("dim").i64();
                const Tensor &dy = g.in(0), &y = g.in(1), g2 = g.dy();
                if (g.needs(0)) g.dx(0, grad({g2, y}, {dim}));
                if (g.needs(1)) g.dx(1, g2 * (dy - sum(dy * y, {dim}, true)) - dy * sum(g2 * y, {dim}, true));
              })
        .onnx("Mul(y, Sub(dy, ReduceSum(Mul(dy, y))))");

}  // namespace hw
