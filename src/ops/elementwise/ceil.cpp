// ceil: the least integer not below x.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("ceil")
                                 .doc("Rounds up to the next integer. Integers stay as they are.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype)); })
                                 .onnx("Ceil");

}  // namespace hw
