// remainder: the remainder with the sign of the divisor.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Tensor floor_quotient(const Tensor& a, const Tensor& b) {
  static const Op floor_divide{"floor_divide"};
  return floor_divide({a, b});
}

static const RegisterOp op = OpDef("remainder")
                                 .doc(
                                     "Returns input - other * floor(input / other), as Python's %. A zero divisor of "
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
                                         if (g.needs(0)) g.dx(0, g.dy());
                                         if (g.needs(1)) g.dx(1, -(g.dy() * floor_quotient(g.in(0), g.in(1))));
                                       })
                                 .onnx("Mod(fmod=0)");

}  // namespace hw
