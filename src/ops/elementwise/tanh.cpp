// tanh: the hyperbolic tangent.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("tanh")
                                 .doc("Returns the hyperbolic tangent of x.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y",
                                       [](GradCtx& g) {
                                         static const Op tanh_grad{"tanh_grad"};
                                         g.dx(0, tanh_grad({g.dy(), g.out()}));
                                       })
                                 .onnx("Tanh");

}  // namespace hw
