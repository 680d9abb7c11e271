// mish: x times the tanh of its softplus.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("mish")
                                 .doc("Returns x * tanh(log(1 + exp(x))). Source: Misra 2019.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op softplus{"softplus"};
                                         const Tensor& x = g.in(0);
                                         Tensor t = tanh(softplus({x}));
                                         g.dx(0, g.dy() * (t + x * sigmoid(x) * (1 - square(t))));
                                       })
                                 .onnx("Mish");

}  // namespace hw
