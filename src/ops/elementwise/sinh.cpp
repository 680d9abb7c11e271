// sinh: the hyperbolic sine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("sinh")
                                 .doc("Returns the hyperbolic sine of x for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op cosh{"cosh"};
                                         g.dx(0, g.dy() * conj(cosh({g.in(0)})));
                                       })
                                 .onnx("Sinh");

}  // namespace hw
