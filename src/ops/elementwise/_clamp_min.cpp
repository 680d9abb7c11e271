// _clamp_min: the kernel of clamp_min: values not below a bound.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_clamp_min")
                                 .doc("The kernel of clamp_min.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("min", "a number, or a tensor that broadcasts with input", real_types)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input min",
                                       [](GradCtx& g) {
                                         if (g.needs(0)) g.dx(0, where(ge(g.in(0), g.in(1)), g.dy(), number(0)));
                                         if (g.needs(1)) g.dx(1, where(lt(g.in(0), g.in(1)), g.dy(), number(0)));
                                       })
                                 .onnx("Max");

}  // namespace hw
