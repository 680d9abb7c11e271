// lerp: linear interpolation.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// 1 - weight; of a Python number in double precision.
static Tensor complement(const Tensor& weight) {
  if (!weight->wrapped) return 1 - weight;
  const Scalar w = weight.item();
  return number(w.kind() == Scalar::Kind::Complex ? Scalar(1.0 - w.c128()) : Scalar(1.0 - w.f64()));
}

static const RegisterOp op = OpDef("lerp")
                                 .doc("Returns input + weight * (end - input).")
                                 .in("input", "the value at weight 0", inexact)
                                 .in("end", "the value at weight 1; a shape that broadcasts with input", inexact)
                                 .in("weight", "a number, or a tensor that broadcasts with the others", inexact)
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("input end weight",
                                       [](GradCtx& g) {
                                         if (g.needs(0)) g.dx(0, g.dy() * conj(complement(g.in(2))));
                                         if (g.needs(1)) g.dx(1, g.dy() * conj(g.in(2)));
                                         if (g.needs(2)) g.dx(2, g.dy() * conj(g.in(1) - g.in(0)));
                                       })
                                 .onnx("Add(x, Mul(weight, Sub(end, x)))");

}  // namespace hw
