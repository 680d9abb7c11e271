// lgamma: the logarithm of the absolute gamma function.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("lgamma")
                                 .doc("Returns log |gamma(x)| for each element.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .flops(cost::special)
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op digamma{"digamma"};
                                         g.dx(0, g.dy() * digamma({g.in(0)}));
                                       })
                                 .no_onnx("ONNX has no gamma function");

}  // namespace hw
