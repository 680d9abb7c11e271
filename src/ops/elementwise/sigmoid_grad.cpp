// sigmoid_grad: the gradient of sigmoid in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("sigmoid_grad")
                                 .doc("Returns grad_output * output * (1 - output).")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("output", "the output of sigmoid", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("grad_output output",
                                       [](GradCtx& g) {
                                         static const Op sigmoid_grad{"sigmoid_grad"};
                                         if (g.needs(0)) g.dx(0, sigmoid_grad({g.dy(), g.in(1)}));
                                         if (g.needs(1)) g.dx(1, g.dy() * g.in(0) * (1 - g.in(1) * 2));
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
