// smooth_l1_loss: quadratic near zero, linear beyond beta.
#include "base/error.h"
#include "op/math.h"
#include "ops/loss/reduction.h"

namespace hw {

static const RegisterOp op =
    OpDef("smooth_l1_loss")
        .doc("Returns 0.5 d^2 / beta where d = |input - target| is below beta, else d - 0.5 beta, reduced.")
        .in("input", "any shape", floating)
        .in("target", "a shape that broadcasts with input", floating)
        .attr("reduction", "mean", "'mean', 'sum' or 'none'")
        .attr("beta", 1.0, "where the two forms meet; 0 gives l1_loss")
        .out("loss")
        .method(false)
        .autocast(Autocast::F32)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          const Tensor &x = in[0], &t = in[1];
          const double beta = attrs[1].f64();
          check(beta >= 0, "beta must not be negative, got ", beta);
          Tensor d = abs(x - t);
          if (beta == 0) return {reduced_loss(d, attrs[0].text())};
          Tensor loss = where(lt(d, number(beta)), square(d) * Scalar(0.5 / beta), d - Scalar(0.5 * beta));
          return {reduced_loss(loss, attrs[0].text())};
        });

}  // namespace hw
