// conj: the complex conjugate.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("conj")
                                 .doc("Returns the complex conjugate; real tensors stay as they are.")
                                 .in("input", "any shape", any_dtype)
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, conj(g.dy())); })
                                 .no_onnx("ONNX operators take no complex numbers");

}  // namespace hw
