// log10: the logarithm to base 10.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("log10")
                                 .doc("Returns the logarithm of x to base 10 for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() / conj(g.in(0) * 2.302585092994046)); })
                                 .onnx("Div(Log(x), 2.302585092994046)");

}  // namespace hw
