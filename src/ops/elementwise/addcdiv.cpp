// addcdiv: a scaled quotient added.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("addcdiv")
                                 .doc("Returns input + value * tensor1 / tensor2.")
                                 .in("input", "any shape", inexact)
                                 .in("tensor1", "a shape that broadcasts with input", inexact)
                                 .in("tensor2", "a shape that broadcasts with input", inexact)
                                 .attr("value", Scalar(1), "the factor")
                                 .keyword()
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("tensor1 tensor2",
                                       [](GradCtx& g) {
                                         g.dx(0, g.dy());
                                         const Scalar& value = g.attr("value").scalar();
                                         Tensor d = g.dy() * conj(value / g.in(2));
                                         if (g.needs(1)) g.dx(1, d);
                                         if (g.needs(2)) g.dx(2, -(d * conj(g.in(1) / g.in(2))));
                                       })
                                 .onnx("Add(x, Mul(value, Div(tensor1, tensor2)))");

}  // namespace hw
