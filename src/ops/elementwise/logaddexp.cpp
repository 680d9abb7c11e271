// logaddexp: the logarithm of a sum of exponentials.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("logaddexp")
                                 .doc("Returns log(exp(input) + exp(other)) without overflow on the way.")
                                 .in("input", "any shape", floating)
                                 .in("other", "any shape that broadcasts with input", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input other",
                                       [](GradCtx& g) {
                                         Tensor d = g.in(0) - g.in(1);
                                         if (g.needs(0)) g.dx(0, g.dy() * sigmoid(d));
                                         if (g.needs(1)) g.dx(1, g.dy() * sigmoid(-d));
                                       })
                                 .onnx("Log(Add(Exp(x), Exp(y)))");

}  // namespace hw
