// elu: the exponential linear unit.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("elu")
                                 .doc("Returns x where x is positive, else alpha * (exp(x) - 1).")
                                 .in("input", "any shape", floating)
                                 .attr("alpha", Scalar(1.0), "the limit at minus infinity is -alpha")
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op elu_grad{"elu_grad"};
                                         g.dx(0, elu_grad({g.dy(), g.in(0)}, {g.attr("alpha")}));
                                       })
                                 .onnx("Elu");

}  // namespace hw
