// leaky_relu: relu with a slope for negative values.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("leaky_relu")
                                 .doc("Returns x where x is positive, else negative_slope * x.")
                                 .in("input", "any shape", floating)
                                 .attr("negative_slope", Scalar(0.01), "slope for negative x")
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op leaky_relu_grad{"leaky_relu_grad"};
                                         g.dx(0, leaky_relu_grad({g.dy(), g.in(0)}, {g.attr("negative_slope")}));
                                       })
                                 .onnx("LeakyRelu");

}  // namespace hw
