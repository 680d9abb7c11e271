// tanh_grad: the gradient of tanh in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("tanh_grad")
                                 .doc("Returns grad_output * (1 - output^2).")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("output", "the output of tanh", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("grad_output output",
                                       [](GradCtx& g) {
                                         static const Op tanh_grad{"tanh_grad"};
                                         if (g.needs(0)) g.dx(0, tanh_grad({g.dy(), g.in(1)}));
                                         if (g.needs(1)) g.dx(1, g.dy() * g.in(0) * g.in(1) * -2);
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
