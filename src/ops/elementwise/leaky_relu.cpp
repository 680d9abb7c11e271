// leaky_relu: relu with a slope for negative values.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("leaky_relu")
        .doc("Returns x where x is positive, else negative_slope * x.")
        .in("input", "any shape", floating)
        .attr("negative_slope", Scalar(0.01), "slope for negative x")
        .promote()
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const Tensor& x = g.in(0);
                g.dx(0, where(gt(x, number(0)), g.dy(), g.dy() * g.attr("negative_slope").scalar()));
              })
        .onnx("LeakyRelu");

}  // namespace hw
