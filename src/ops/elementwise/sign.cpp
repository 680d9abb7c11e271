// sign: the sign.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("sign")
                                 .doc("Returns -1, 0 or 1 for each element; bool stays as it is.")
                                 .in("input", "any shape", real_types)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype)); })
                                 .onnx("Sign");

}  // namespace hw
