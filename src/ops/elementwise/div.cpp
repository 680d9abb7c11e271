// div: the true quotient.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("div")
    .doc("Divides element by element, with broadcasting; integers give floating results.")
    .in("input", "any shape", inexact)
    .in("other", "any shape that broadcasts with input", inexact)
    .promote(Promote::Floating)
    .out("y", dtype::promoted, shape::broadcast)
    .inplace()
    .autocast(Autocast::Widest)
    .sbp(sbp::elementwise)
    .grad("input other", [](GradCtx& g) {
      Tensor d = g.dy() / conj(g.in(1));
      if (g.needs(0)) g.dx(0, d);
      if (g.needs(1)) g.dx(1, -(d * conj(g.in(0) / g.in(1))));
    })
    .onnx("Div");

}  // namespace hw
