// log1p: log(1 + x), exact near zero.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("log1p")
                                 .doc("Returns log(1 + x) for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() / conj(g.in(0) + 1)); })
                                 .onnx("Log(Add(x, 1))");

}  // namespace hw
