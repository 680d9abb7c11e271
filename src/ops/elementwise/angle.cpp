// angle: the argument of a complex number.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("angle")
        .doc(
            "Returns the angle in radians: of a complex number its argument, of a real one 0, or pi if it is negative.")
        .in("input", "any shape", inexact)
        .promote(Promote::Floating)
        .out("y", dtype::real, shape::same)
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                if (!is_complex(g.in_spec(0).dtype)) return g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype));
                Tensor size = abs(g.in(0));
                Tensor turned = g.in(0) * Scalar(std::complex<double>(0, 1));
                g.dx(0, where(eq(size, number(0)), number(0), g.dy() * (turned / square(size))));
              })
        .no_onnx("ONNX operators take no complex numbers");

}  // namespace hw
