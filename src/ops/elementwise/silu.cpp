// silu: x times its sigmoid.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("silu")
                                 .doc("Returns x * sigmoid(x), also called swish.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op silu_grad{"silu_grad"};
                                         g.dx(0, silu_grad({g.dy(), g.in(0)}));
                                       })
                                 .onnx("Mul(x, Sigmoid(x))");

}  // namespace hw
