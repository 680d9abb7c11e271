// elu_grad: the gradient of elu in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("elu_grad")
        .doc("Returns grad_output times the derivative of elu at input.")
        .in("grad_output", "gradient of the result", floating)
        .in("input", "the input of elu", floating)
        .attr("alpha", Scalar(1.0), "as for elu")
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .internal()
        .sbp(sbp::elementwise)
        .grad("grad_output input",
              [](GradCtx& g) {
                static const Op elu_grad{"elu_grad"};
                const Tensor& x = g.in(1);
                if (g.needs(0)) g.dx(0, elu_grad({g.dy(), x}, {g.attr("alpha")}));
                if (g.needs(1))
                  g.dx(1, where(gt(x, number(0)), number(0), g.dy() * g.in(0) * exp(x) * g.attr("alpha").scalar()));
              })
        .no_onnx("only part of gradients");

}  // namespace hw
