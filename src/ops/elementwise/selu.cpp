// selu: the self-normalising exponential linear unit.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("selu")
        .doc("Returns scale * elu(x, alpha) with alpha = 1.6733 and scale = 1.0507. Source: Klambauer et al. 2017.")
        .in("input", "any shape", floating)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const double scale = 1.0507009873554804934193349852946, alpha = 1.6732632423543772848170429916717;
                const Tensor& x = g.in(0);
                g.dx(0, where(gt(x, number(0)), g.dy() * scale, g.dy() * exp(x) * (scale * alpha)));
              })
        .onnx("Selu");

}  // namespace hw
