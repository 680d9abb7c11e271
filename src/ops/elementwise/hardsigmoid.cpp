// hardsigmoid: a piecewise linear sigmoid.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("hardsigmoid")
                                 .doc("Returns min(max(x + 3, 0), 6) / 6.")
                                 .in("input", "any shape", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op hardsigmoid_grad{"hardsigmoid_grad"};
                                         g.dx(0, hardsigmoid_grad({g.dy(), g.in(0)}));
                                       })
                                 .onnx("HardSigmoid(x, alpha=0.16666667, beta=0.5)");

}  // namespace hw
