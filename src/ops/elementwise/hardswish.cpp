// hardswish: a piecewise quadratic swish.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("hardswish")
                                 .doc("Returns x * min(max(x + 3, 0), 6) / 6.")
                                 .in("input", "any shape", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op hardswish_grad{"hardswish_grad"};
                                         g.dx(0, hardswish_grad({g.dy(), g.in(0)}));
                                       })
                                 .onnx("HardSwish");

}  // namespace hw
