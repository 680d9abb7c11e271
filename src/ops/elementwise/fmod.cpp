// fmod: the remainder with the sign of the dividend.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("fmod")
                                 .doc(
                                     "Returns input - other * trunc(input / other), as C's fmod. A zero divisor of "
                                     "integers raises RuntimeError.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("other", "any shape that broadcasts with input", real_types & ~boolean)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input other",
                                       [](GradCtx& g) {
                                         static const Op div{"div"};
                                         if (g.needs(0)) g.dx(0, g.dy());
                                         if (g.needs(1)) g.dx(1, -(g.dy() * div({g.in(0), g.in(1)}, {"trunc"})));
                                       })
                                 .onnx("Mod(fmod=1)");

}  // namespace hw
