// copysign: the size of one with the sign of the other.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("copysign")
        .doc("Returns |input| with the sign of other (that of -0.0 is negative).")
        .in("input", "any shape", floating)
        .in("other", "any shape that broadcasts with input", floating)
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .grad("input y",
              [](GradCtx& g) {
                if (g.needs(0)) g.dx(0, where(eq(g.in(0), number(0)), number(0), g.dy() * (g.out() / g.in(0))));
                if (g.needs(1)) g.dx(1, zeros(g.in_spec(1).shape, g.in_spec(1).dtype));
              })
        .no_onnx("ONNX cannot see the sign of zero");

}  // namespace hw
