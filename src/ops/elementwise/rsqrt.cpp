// rsqrt: one over the square root.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("rsqrt")
                                 .doc("Returns 1 / sqrt(x) for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("y",
                                       [](GradCtx& g) {
                                         const Tensor& y = g.out();
                                         g.dx(0, g.dy() * conj(y * y * y) * -0.5);
                                       })
                                 .onnx("Reciprocal(Sqrt(x))");

}  // namespace hw
