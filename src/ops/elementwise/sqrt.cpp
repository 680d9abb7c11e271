// sqrt: the square root.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("sqrt")
                                 .doc("Returns the square root of x for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y", [](GradCtx& g) { g.dx(0, g.dy() / conj(g.out() * 2)); })
                                 .onnx("Sqrt");

}  // namespace hw
