// logaddexp2: the base-2 logarithm of a sum of powers of two.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("logaddexp2")
                                 .doc("Returns log2(2^input + 2^other) without overflow on the way.")
                                 .in("input", "any shape", floating)
                                 .in("other", "any shape that broadcasts with input", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input other",
                                       [](GradCtx& g) {
                                         Tensor d = (g.in(0) - g.in(1)) * 0.6931471805599453;
                                         if (g.needs(0)) g.dx(0, g.dy() * sigmoid(d));
                                         if (g.needs(1)) g.dx(1, g.dy() * sigmoid(-d));
                                       })
                                 .onnx("Div(Log(Add(Pow(2, x), Pow(2, y))), 0.6931471805599453)");

}  // namespace hw
