// xlogy: x times log y.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("xlogy")
        .doc("Returns input * log(other); 0 where input is 0 and other is not NaN.")
        .in("input", "any shape", floating)
        .in("other", "any shape that broadcasts with input", floating)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .grad("input other",
              [](GradCtx& g) {
                const Tensor &a = g.in(0), &b = g.in(1);
                if (g.needs(0))
                  g.dx(0, where(logical_and(eq(a, number(0)), le(b, number(0))), number(0), g.dy() * log(b)));
                if (g.needs(1)) g.dx(1, g.dy() * a / b);
              })
        .onnx("Where(Equal(x, 0), 0, Mul(x, Log(y)))");

}  // namespace hw
