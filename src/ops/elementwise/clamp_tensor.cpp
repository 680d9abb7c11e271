// clamp_tensor: values between two bounds, the kernel.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Tensor logical_or_high(const Tensor& x, const Tensor& low, const Tensor& high) {
  static const Op logical_or{"logical_or"};
  return logical_or({gt(x, high), lt(high, low)});
}

static const RegisterOp op = OpDef("clamp_tensor")
                                 .doc("Returns min(max(input, min), max); the kernel of clamp.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("min", "the lower bound", real_types)
                                 .in("max", "the upper bound", real_types)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input min max",
                                       [](GradCtx& g) {
                                         const Tensor &x = g.in(0), &low = g.in(1), &high = g.in(2);
                                         if (g.needs(0))
                                           g.dx(0, where(logical_and(ge(x, low), le(x, high)), g.dy(), number(0)));
                                         if (g.needs(1))
                                           g.dx(1, where(logical_and(lt(x, low), lt(low, high)), g.dy(), number(0)));
                                         if (g.needs(2))
                                           g.dx(2, where(logical_or_high(x, low, high), g.dy(), number(0)));
                                       })
                                 .onnx("Clip");

}  // namespace hw
