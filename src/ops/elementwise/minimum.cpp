// minimum: the smaller of two.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("minimum")
        .doc("Returns the smaller element; NaN if either is NaN. Where both are equal each gets half of the gradient.")
        .in("input", "any shape", real_types)
        .in("other", "any shape that broadcasts with input", real_types)
        .promote()
        .out("y", dtype::promoted, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .grad("input other",
              [](GradCtx& g) {
                const Tensor &a = g.in(0), &b = g.in(1);
                Tensor half = where(eq(a, b), g.dy() * 0.5, g.dy());
                if (g.needs(0)) g.dx(0, where(gt(a, b), number(0), half));
                if (g.needs(1)) g.dx(1, where(lt(a, b), number(0), half));
              })
        .onnx("Min");

}  // namespace hw
