// _pow: powers of two tensors.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// e x^(e - 1). A number is lowered by one in double precision.
static Tensor power_slope(const Tensor& x, const Tensor& e) {
  if (!e->wrapped) return where(eq(e, number(0)), number(0), e * pow(x, e - 1));
  const Scalar s = e.item();
  if (!s.truth()) return zeros_like(x);
  if (s.kind() == Scalar::Kind::Complex) return pow(x, number(s.c128() - 1.0)) * s;
  return pow(x, number(s.f64() - 1)) * s;
}

static const RegisterOp op = OpDef("_pow")
                                 .doc("Returns input to the power of other, element by element; the kernel of pow.")
                                 .in("input", "any shape")
                                 .in("other", "any shape that broadcasts with input")
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .internal()
                                 .flops(cost::special)
                                 .sbp(sbp::elementwise)
                                 .grad("input other",
                                       [](GradCtx& g) {
                                         const Tensor &x = g.in(0), &e = g.in(1);
                                         if (g.needs(0)) g.dx(0, g.dy() * conj(power_slope(x, e)));
                                         if (!g.needs(1)) return;
                                         // Where input is 0 the power stays 0 for all exponents nearby, though log(0) is infinite.
                                         Tensor slope = conj(pow(x, e) * log(x));
                                         Tensor flat = eq(x, number(0));
                                         if (!is_complex(e.dtype())) flat = logical_and(flat, ge(e, number(0)));
                                         g.dx(1, where(flat, number(0), g.dy() * slope));
                                       })
                                 .onnx("Pow");

}  // namespace hw
