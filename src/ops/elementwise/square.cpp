// square: the square.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("square")
                                 .doc("Returns x * x for each element.")
                                 .in("input", "any shape", numeric)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * conj(g.in(0)) * 2); })
                                 .onnx("Mul(x, x)");

}  // namespace hw
