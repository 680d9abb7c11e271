// asinh: the inverse hyperbolic sine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("asinh")
                                 .doc("Returns the inverse hyperbolic sine of x for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * conj(rsqrt(square(g.in(0)) + 1))); })
                                 .onnx("Asinh");

}  // namespace hw
