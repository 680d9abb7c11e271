// _nan_to_num: numbers instead of NaN and infinities, the kernel.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_nan_to_num")
                                 .doc("The kernel of nan_to_num.")
                                 .in("input", "any shape", floating)
                                 .attr("nan", 0.0, "instead of NaN")
                                 .attr("posinf", 0.0, "instead of infinity")
                                 .attr("neginf", 0.0, "instead of minus infinity")
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("input",
                                       [](GradCtx& g) {
                                         static const Op isfinite{"isfinite"};
                                         g.dx(0, where(isfinite({g.in(0)}), g.dy(), number(0)));
                                       })
                                 .onnx("Where(IsNaN(x), nan, Clip(x, neginf, posinf))");

}  // namespace hw
