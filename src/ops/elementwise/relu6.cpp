// relu6: x between zero and six.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("relu6")
        .doc("Returns min(max(x, 0), 6).")
        .in("input", "any shape", real_types & ~boolean)
        .promote()
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const Tensor& x = g.in(0);
                g.dx(0, where(logical_and(gt(x, number(0)), lt(x, number(6))), g.dy(), number(0)));
              })
        .onnx("Clip(x, 0, 6)");

}  // namespace hw
