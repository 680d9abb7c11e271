// relu_grad: the gradient of relu in one pass.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("relu_grad")
                                 .doc("Returns grad_output where output is positive, else 0.")
                                 .in("grad_output", "gradient of the result", floating)
                                 .in("output", "the result of relu", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("output",
                                       [](GradCtx& g) {
                                         static const Op relu_grad{"relu_grad"};
                                         g.dx(0, relu_grad({g.dy(), g.in(1)}));
                                       })
                                 .no_onnx("only part of gradients");

}  // namespace hw
