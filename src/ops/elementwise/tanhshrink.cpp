// tanhshrink: x minus its tanh.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("tanhshrink")
                                 .doc("Returns x - tanh(x).")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * square(tanh(g.in(0)))); })
                                 .onnx("Sub(x, Tanh(x))");

}  // namespace hw
