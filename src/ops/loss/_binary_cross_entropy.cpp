// _binary_cross_entropy: -(t log(x) + (1 - t) log(1 - x)), logarithms limited to -100.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_binary_cross_entropy")
        .doc("Returns -(t log(x) + (1 - t) log(1 - x)) for each element, with logarithms of at least -100.")
        .in("input", "probabilities", floating)
        .in("target", "a shape that broadcasts with input", floating)
        .promote(Promote::Floating)
        .out("loss", dtype::promoted, shape::broadcast)
        .internal()
        .autocast(Autocast::F32)
        .flops(cost::per_input<40>)
        .sbp(sbp::elementwise)
        .grad("input target",
              [](GradCtx& g) {
                const Tensor &x = g.in(0), &t = g.in(1);
                Tensor rest = Scalar(1.0) - x;
                // At 0 and 1 the exact derivative is infinite; torch's limit on the divisor is kept.
                if (g.needs(0)) g.dx(0, g.dy() * (x - t) / maximum(x * rest, number(1e-12)));
                if (g.needs(1))
                  g.dx(1, g.dy() * (maximum(log(rest), number(-100.0)) - maximum(log(x), number(-100.0))));
              })
        .onnx("Neg(Add(Mul(t, Log(x)), Mul(Sub(1, t), Log(Sub(1, x)))))");

}  // namespace hw
