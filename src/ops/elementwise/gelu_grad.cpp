// gelu_grad: the gradient of gelu in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("gelu_grad")
        .doc("Returns grad_output times the derivative of gelu at input.")
        .in("grad_output", "gradient of the result", floating)
        .in("input", "the input of gelu", floating)
        .attr("approximate", "none", "\"none\" or \"tanh\"")
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .internal()
        .sbp(sbp::elementwise)
        .grad("grad_output input",
              [](GradCtx& g) {
                static const Op gelu_grad{"gelu_grad"};
                const Tensor& x = g.in(1);
                if (g.needs(0)) g.dx(0, gelu_grad({g.dy(), x}, {g.attr("approximate")}));
                if (!g.needs(1)) return;
                Tensor w = g.dy() * g.in(0), xx = square(x);
                if (g.attr("approximate").text() != "tanh")
                  return g.dx(1, w * (2 - xx) * exp(xx * -0.5) * 0.3989422804014327);
                // u = k (x + c x^3), t = tanh u: the second derivative of x/2 (1 + t).
                const double k = 0.7978845608028654, c = 0.044715;
                Tensor t = tanh((x + x * xx * c) * k), du = (xx * (3 * c) + 1) * k, dt = (1 - square(t)) * du;
                g.dx(1, w * (dt + x * 0.5 * ((1 - square(t)) * x * (6 * c * k) - t * dt * du * 2)));
              })
        .no_onnx("only part of gradients");

}  // namespace hw
