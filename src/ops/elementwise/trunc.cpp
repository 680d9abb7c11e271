// trunc: the integer part.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("trunc")
                                 .doc("Rounds toward zero. Integers stay as they are.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype)); })
                                 .onnx("Where(Less(x, 0), Ceil(x), Floor(x))");

}  // namespace hw
