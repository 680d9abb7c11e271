// addcmul: a scaled product added.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("addcmul")
                                 .doc("Returns input + value * tensor1 * tensor2.")
                                 .in("input", "any shape", numeric)
                                 .in("tensor1", "a shape that broadcasts with input", numeric)
                                 .in("tensor2", "a shape that broadcasts with input", numeric)
                                 .attr("value", Scalar(1), "the factor")
                                 .keyword()
                                 .promote()
                                 .out("y", dtype::promoted, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::elementwise)
                                 .grad("tensor1:tensor2 tensor2:tensor1",
                                       [](GradCtx& g) {
                                         g.dx(0, g.dy());
                                         const Scalar& value = g.attr("value").scalar();
                                         if (g.needs(1)) g.dx(1, g.dy() * conj(g.in(2) * value));
                                         if (g.needs(2)) g.dx(2, g.dy() * conj(g.in(1) * value));
                                       })
                                 .onnx("Add(x, Mul(value, Mul(tensor1, tensor2)))");

}  // namespace hw
