// real: the real part.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("real")
                                 .doc("Returns the real part of each element; real tensors stay as they are.")
                                 .in("input", "any shape", any_dtype)
                                 .promote()
                                 .method(false)  // an attribute of tensors
                                 .out("y", dtype::real, shape::same)
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, g.dy()); })
                                 .no_onnx("ONNX operators take no complex numbers");

}  // namespace hw
