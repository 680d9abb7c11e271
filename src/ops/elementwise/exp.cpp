// exp: the exponential.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("exp")
                                 .doc("Returns e to the power of x for each element.")
                                 .example(">>> hw.exp(hw.tensor([0.0, 1.0]))\ntensor([1.0000, 2.7183])")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y", [](GradCtx& g) { g.dx(0, g.dy() * conj(g.out())); })
                                 .onnx("Exp");

}  // namespace hw
