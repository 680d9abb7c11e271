// silu_grad: the gradient of silu in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("silu_grad")
                                 .doc("Returns grad_output * s * (1 + input * (1 - s)) with s = sigmoid(input).")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("input", "the input of silu", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("grad_output input",
                                       [](GradCtx& g) {
                                         static const Op silu_grad{"silu_grad"};
                                         if (g.needs(0)) g.dx(0, silu_grad({g.dy(), g.in(1)}));
                                         if (!g.needs(1)) return;
                                         Tensor s = sigmoid(g.in(1)), slope = s * (1 - s);
                                         g.dx(1, g.dy() * g.in(0) * slope * (2 + g.in(1) * (1 - s * 2)));
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
