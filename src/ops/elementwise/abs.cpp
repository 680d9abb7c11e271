// abs: the absolute value.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("abs")
                                 .doc("Returns |x|; the magnitude of complex numbers, as a real tensor.")
                                 .in("input", "any shape", numeric)
                                 .promote()
                                 .out("y", dtype::real, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op sgn{"sgn"};
                                         g.dx(0, g.dy() * sgn({g.in(0)}));
                                       })
                                 .onnx("Abs");

}  // namespace hw
