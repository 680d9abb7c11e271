// hypot: the length of the hypotenuse.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("hypot")
                                 .doc("Returns sqrt(input^2 + other^2) without overflow on the way.")
                                 .in("input", "any shape", floating)
                                 .in("other", "any shape that broadcasts with input", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input other y",
                                       [](GradCtx& g) {
                                         Tensor scaled = g.dy() / g.out();
                                         if (g.needs(0)) g.dx(0, scaled * g.in(0));
                                         if (g.needs(1)) g.dx(1, scaled * g.in(1));
                                       })
                                 .onnx("Sqrt(Add(Mul(x, x), Mul(y, y)))");

}  // namespace hw
