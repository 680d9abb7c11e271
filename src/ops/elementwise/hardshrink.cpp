// hardshrink: x, or zero where it is small.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("hardshrink")
        .doc("Returns x where |x| is above lambd, else 0.")
        .in("input", "any shape", floating)
        .attr("lambd", Scalar(0.5), "width of the zero band")
        .promote()
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) { g.dx(0, where(le(abs(g.in(0)), number(g.attr("lambd").scalar())), number(0), g.dy())); })
        .onnx("Shrink(x, lambd=lambd, bias=0)");

}  // namespace hw
