// logsigmoid: the logarithm of the sigmoid.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("logsigmoid")
                                 .doc("Returns log(1 / (1 + exp(-x))), exact for large negative x.")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * sigmoid(-g.in(0))); })
                                 .onnx("Log(Sigmoid(x))");

}  // namespace hw
