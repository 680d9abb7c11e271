// leaky_relu_grad: the gradient of leaky_relu in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("leaky_relu_grad")
                                 .doc("Returns grad_output where input is positive, else negative_slope * grad_output.")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("input", "the input of leaky_relu", floating)
                                 .attr("negative_slope", Scalar(0.01), "slope for negative input")
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op leaky_relu_grad{"leaky_relu_grad"};
                                         g.dx(0, leaky_relu_grad({g.dy(), g.in(1)}, {g.attr("negative_slope")}));
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
