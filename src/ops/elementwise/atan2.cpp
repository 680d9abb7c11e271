// atan2: the angle of a point.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("atan2")
        .doc("Returns the angle in radians between the positive x axis and the point (other, input), from -pi to pi.")
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
                Tensor size = square(a) + square(b);
                Tensor scaled = where(eq(size, number(0)), number(0), g.dy() / size);
                if (g.needs(0)) g.dx(0, scaled * b);
                if (g.needs(1)) g.dx(1, -(scaled * a));
              })
        .no_onnx("ONNX has no two-argument arctangent");

}  // namespace hw
