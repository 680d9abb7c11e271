// neg: the negative.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("neg")
                                 .doc("Returns -x for each element.")
                                 .in("input", "any shape", numeric)
                                 .out("y", dtype::same, shape::same)
                                 .promote()
                                 .inplace()
                                 .sbp(sbp::linear)
                                 .grad("", [](GradCtx& g) { g.dx(0, -g.dy()); })
                                 .onnx("Neg");

}  // namespace hw
