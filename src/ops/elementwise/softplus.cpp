// softplus: a smooth relu.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("softplus")
        .doc("Returns log(1 + exp(beta x)) / beta, and x itself where beta x is above threshold.")
        .in("input", "any shape", floating)
        .attr("beta", Scalar(1.0), "how sharp the bend is")
        .attr("threshold", Scalar(20.0), "where the function becomes linear")
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                Tensor z = g.in(0) * g.attr("beta").scalar();
                g.dx(0, where(gt(z, number(g.attr("threshold").scalar())), g.dy(), g.dy() * sigmoid(z)));
              })
        .onnx("Softplus");

}  // namespace hw
