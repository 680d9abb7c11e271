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
                                         const Tensor& x = g.in(0);
                                         Tensor inner = where(le(x, number(3)), g.dy() * (x / 3.0 + 0.5), g.dy());
                                         g.dx(0, where(lt(x, number(-3)), number(0), inner));
                                       })
                                 .onnx("HardSwish");

}  // namespace hw
