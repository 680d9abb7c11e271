// clamp_max: values not above a bound.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("clamp_max")
                                 .doc("Returns max where input is above it, else input; NaN stays.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("max", "a number, or a tensor that broadcasts with input", real_types)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input max",
                                       [](GradCtx& g) {
                                         if (g.needs(0)) g.dx(0, where(le(g.in(0), g.in(1)), g.dy(), number(0)));
                                         if (g.needs(1)) g.dx(1, where(gt(g.in(0), g.in(1)), g.dy(), number(0)));
                                       })
                                 .onnx("Min");

}  // namespace hw
