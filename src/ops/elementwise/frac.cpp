// frac: the fractional part.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("frac")
                                 .doc("Returns x - trunc(x), which has the sign of x.")
                                 .in("input", "any shape", floating)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, g.dy()); })
                                 .onnx("Sub(x, Where(Less(x, 0), Ceil(x), Floor(x)))");

}  // namespace hw
