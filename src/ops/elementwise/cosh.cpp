// cosh: the hyperbolic cosine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("cosh")
                                 .doc("Returns the hyperbolic cosine of x for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op sinh{"sinh"};
                                         g.dx(0, g.dy() * conj(sinh({g.in(0)})));
                                       })
                                 .onnx("Cosh");

}  // namespace hw
