// softplus_grad: the gradient of softplus in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("softplus_grad")
                                 .doc("Returns grad_output times the derivative of softplus at input.")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("input", "the input of softplus", floating)
                                 .attr("beta", Scalar(1.0), "as for softplus")
                                 .attr("threshold", Scalar(20.0), "as for softplus")
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("grad_output input",
                                       [](GradCtx& g) {
                                         static const Op softplus_grad{"softplus_grad"};
                                         const Tensor& x = g.in(1);
                                         if (g.needs(0))
                                           g.dx(0, softplus_grad({g.dy(), x}, {g.attr("beta"), g.attr("threshold")}));
                                         if (!g.needs(1)) return;
                                         const Scalar& beta = g.attr("beta").scalar();
                                         Tensor z = x * beta, s = sigmoid(z);
                                         g.dx(1, where(gt(z, number(g.attr("threshold").scalar())), number(0),
                                                       g.dy() * g.in(0) * (s * (1 - s) * beta)));
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
