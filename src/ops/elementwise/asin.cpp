// asin: the inverse sine.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("asin")
                                 .doc("Returns the angle in radians whose sine is x for each element.")
                                 .in("input", "any shape", inexact)
                                 .promote(Promote::Floating)
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("input", [](GradCtx& g) { g.dx(0, g.dy() * conj(rsqrt(1 - square(g.in(0))))); })
                                 .onnx("Asin");

}  // namespace hw
