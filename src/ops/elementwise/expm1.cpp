// expm1: exp(x) - 1, exact near zero.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("expm1")
                                 .doc("Returns exp(x) - 1 for each element, exact near zero.")
                                 .example(">>> hw.expm1(hw.tensor([0.0, 1.0]))\ntensor([0.0000, 1.7183])")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y", [](GradCtx& g) { g.dx(0, g.dy() * conj(g.out() + 1)); })
                                 .onnx("Sub(Exp(x), 1)");

}  // namespace hw
