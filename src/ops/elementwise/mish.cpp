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
                                         static const Op mish_grad{"mish_grad"};
                                         g.dx(0, mish_grad({g.dy(), g.in(0)}));
                                       })
                                 .onnx("Mish");

}  // namespace hw
