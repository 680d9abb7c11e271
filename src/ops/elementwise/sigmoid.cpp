// sigmoid: the logistic function.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("sigmoid")
        .doc("Returns 1 / (1 + exp(-x)).")
        .in("input", "any shape", inexact)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("y",
              [](GradCtx& g) {
                static const Op sigmoid_grad{"sigmoid_grad"};
                const Tensor& y = g.out();
                g.dx(0, is_complex(y.dtype()) ? g.dy() * conj(y * (1 - y)) : sigmoid_grad({g.dy(), y}));
              })
        .onnx("Sigmoid");

}  // namespace hw
