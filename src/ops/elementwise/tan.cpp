// tan: the tangent.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("tan")
                                 .doc("Returns the tangent of x (radians) for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y", [](GradCtx& g) { g.dx(0, g.dy() * conj(square(g.out()) + 1)); })
                                 .onnx("Tan");

}  // namespace hw
