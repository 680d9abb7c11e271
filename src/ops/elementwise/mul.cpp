// mul: the product.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("mul")
                                 .doc("Multiplies element by element, with broadcasting.")
                                 .in("input", "any shape", any_dtype)
                                 .in("other", "any shape that broadcasts with input", any_dtype)
                                 .promote(Promote::Common)
                                 .numbers(NumberRule::Wraps)
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::linear)
                                 .grad("input:other other:input",
                                       [](GradCtx& g) {
                                         if (g.needs(0)) g.dx(0, g.dy() * conj(g.in(1)));
                                         if (g.needs(1)) g.dx(1, g.dy() * conj(g.in(0)));
                                       })
                                 .onnx("Mul");

}  // namespace hw
