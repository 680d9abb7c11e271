// tanh: the hyperbolic tangent.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("tanh")
        .doc("Returns the hyperbolic tangent of x.")
        .in("input", "any shape", inexact)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("y",
              [](GradCtx& g) {
                static const Op tanh_grad{"tanh_grad"};
                const Tensor& y = g.out();
                g.dx(0, is_complex(y.dtype()) ? g.dy() * conj(1 - square(y)) : tanh_grad({g.dy(), y}));
              })
        .onnx("Tanh");

}  // namespace hw
