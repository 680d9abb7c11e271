// hardsigmoid_grad: the gradient of hardsigmoid in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("hardsigmoid_grad")
                                 .doc("Returns grad_output / 6 where input lies between -3 and 3, else 0.")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("input", "the input of hardsigmoid", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op hardsigmoid_grad{"hardsigmoid_grad"};
                                         g.dx(0, hardsigmoid_grad({g.dy(), g.in(1)}));
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
