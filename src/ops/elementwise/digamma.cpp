// digamma: the logarithmic derivative of the gamma function.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("digamma")
                                 .doc("Returns the derivative of log gamma(x) for each element.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .flops(cost::special)
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op trigamma{"trigamma"};
                                         g.dx(0, g.dy() * trigamma({g.in(0)}));
                                       })
                                 .no_onnx("ONNX has no gamma function");

}  // namespace hw
