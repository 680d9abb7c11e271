// _log_softmax_grad: dy - exp(y) sum(dy), the gradient of log_softmax.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_log_softmax_grad")
                                 .doc("The gradient of log_softmax: dy - exp(y) sum(dy) along the axis `dim`.")
                                 .in("dy", "gradient of y", floating)
                                 .in("y", "the result of log_softmax", floating)
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .out(
                                     "dx", [](const InferCtx& c) { return c.in[1].dtype; }, shape::same)
                                 .internal()
                                 .flops(cost::per_input<10>)
                                 .sbp(sbp::along_dim)
                                 .grad("dy y",
                                       [](GradCtx& g) {
                                         const int64_t dim = g.attr("dim").i64();
                                         Tensor p = exp(g.in(1)), g2 = g.dy();
                                         if (g.needs(0)) g.dx(0, g2 - sum(g2 * p, {dim}, true));
                                         if (g.needs(1)) g.dx(1, neg(g2 * p * sum(g.in(0), {dim}, true)));
                                       })
                                 .onnx("Sub(dy, Mul(Exp(y), ReduceSum(dy)))");

}  // namespace hw
