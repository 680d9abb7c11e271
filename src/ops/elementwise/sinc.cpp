// sinc: the normalised cardinal sine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("sinc")
        .doc("Returns sin(pi x) / (pi x), and 1 at 0.")
        .in("input", "any shape", floating)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input y",
              [](GradCtx& g) {
                const Tensor &x = g.in(0), &y = g.out();
                g.dx(0, where(eq(x, number(0)), number(0.0), g.dy() * (cos(x * 3.141592653589793) - y) / x));
              })
        .onnx("Where(Equal(x, 0), 1, Div(Sin(Mul(x, 3.141592653589793)), Mul(x, 3.141592653589793)))");

}  // namespace hw
