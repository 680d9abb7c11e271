// huber_loss: quadratic near zero, linear beyond delta.
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op =
    OpDef("huber_loss")
        .doc(
            "Returns 0.5 d^2 where d = |input - target| is at most delta, else delta (d - 0.5 delta), reduced (Huber, "
            "1964).")
        .in("input", "any shape", floating)
        .in("target", "a shape that broadcasts with input", floating)
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .attr("delta", 1.0, "where the two forms meet")
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Tensor &x = in[0], &t = in[1];
          const double delta = attrs[1].f64();
          check(delta > 0, "delta must be positive, got ", delta);
          Tensor d = abs(x - t);
          Tensor loss = where(le(d, number(delta)), square(d) * Scalar(0.5), (d - Scalar(0.5 * delta)) * Scalar(delta));
          return {reduced_loss(loss, attrs[0].text())};
        });

}  // namespace hw
