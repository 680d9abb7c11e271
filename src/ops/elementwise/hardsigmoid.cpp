// hardsigmoid: a piecewise linear sigmoid.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("hardsigmoid")
        .doc("Returns min(max(x + 3, 0), 6) / 6.")
        .in("input", "any shape", floating)
        .promote()
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const Tensor& x = g.in(0);
                g.dx(0, where(logical_and(gt(x, number(-3)), lt(x, number(3))), g.dy() * (1.0 / 6.0), number(0)));
              })
        .onnx("HardSigmoid(x, alpha=0.16666667, beta=0.5)");

}  // namespace hw
