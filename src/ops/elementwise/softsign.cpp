// softsign: x over one plus its size.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("softsign")
                                 .doc("Returns x / (1 + |x|).")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() / square(abs(g.in(0)) + 1)); })
                                 .onnx("Softsign");

}  // namespace hw
