// _clamp_max: the kernel of clamp_max: values not above a bound.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_clamp_max")
                                 .doc("The kernel of clamp_max.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("max", "a number, or a tensor that broadcasts with input", real_types)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input max",
                                       [](GradCtx& g) {
                                         if (g.needs(0)) g.dx(0, where(le(g.in(0), g.in(1)), g.dy(), number(0)));
                                         if (g.needs(1)) g.dx(1, where(gt(g.in(0), g.in(1)), g.dy(), number(0)));
                                       })
                                 .onnx("Min");

}  // namespace hw
