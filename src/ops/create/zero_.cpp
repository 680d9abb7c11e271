// zero_: zeros everywhere, in place.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("zero_")
                                 .doc("Sets every element of `input` to zero. Returns `input`.")
                                 .in("input", "any shape; overwritten")
                                 .out("y", dtype::same, shape::same)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype)); })
                                 .onnx("ConstantOfShape");

}  // namespace hw
