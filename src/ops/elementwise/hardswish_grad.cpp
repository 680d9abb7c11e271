// hardswish_grad: the gradient of hardswish in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("hardswish_grad")
        .doc("Returns grad_output times the derivative of hardswish at input.")
        .in("grad_output", "gradient of the result", floating)
        .in("input", "the input of hardswish", floating)
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .internal()
        .sbp(sbp::elementwise)
        .grad("grad_output input",
              [](GradCtx& g) {
                static const Op hardswish_grad{"hardswish_grad"};
                const Tensor& x = g.in(1);
                if (g.needs(0)) g.dx(0, hardswish_grad({g.dy(), x}));
                if (g.needs(1))
                  g.dx(1, where(logical_and(gt(x, number(-3)), lt(x, number(3))), g.dy() * g.in(0) / 3.0, number(0)));
              })
        .no_onnx("only part of gradients");

}  // namespace hw
