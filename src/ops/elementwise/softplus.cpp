// softplus: a smooth relu.
#include "op/cost.h"
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
        .flops(cost::special)
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                static const Op softplus_grad{"softplus_grad"};
                g.dx(0, softplus_grad({g.dy(), g.in(0)}, {g.attr("beta"), g.attr("threshold")}));
              })
        .onnx("Softplus");

}  // namespace hw
