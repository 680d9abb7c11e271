// mish_grad: the gradient of mish in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("mish_grad")
        .doc("Returns grad_output times the derivative of mish at input.")
        .in("grad_output", "gradient of the result", floating)
        .in("input", "the input of mish", floating)
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .internal()
        .sbp(sbp::elementwise)
        .grad("grad_output input",
              [](GradCtx& g) {
                static const Op mish_grad{"mish_grad"}, softplus{"softplus"};
                const Tensor& x = g.in(1);
                if (g.needs(0)) g.dx(0, mish_grad({g.dy(), x}));
                if (!g.needs(1)) return;
                Tensor t = tanh(softplus({x})), s = sigmoid(x);
                g.dx(1, g.dy() * g.in(0) * (s * (1 - square(t)) * (2 + x * (1 - s - t * s * 2))));
              })
        .no_onnx("only part of gradients");

}  // namespace hw
