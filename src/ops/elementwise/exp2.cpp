// exp2: two to the power of x.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("exp2")
                                 .doc("Returns 2 to the power of x for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y", [](GradCtx& g) { g.dx(0, g.dy() * conj(g.out()) * 0.6931471805599453); })
                                 .onnx("Pow(2, x)");

}  // namespace hw
