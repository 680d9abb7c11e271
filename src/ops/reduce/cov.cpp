// cov: the covariance matrix.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Tensor weights(const Tensor& x, const char* name, const Tensor& w) {
  check_runtime(w.ndim() == 1 && w.size(0) == x.size(1), name, " must have one weight for each of the ", x.size(1),
                " observations, got ", w);
  return to(w, real(x).dtype());
}

static const RegisterOp op =
    OpDef("cov")
        .doc(
            "Returns the covariances [n, n] of n variables (rows) over m observations (columns); of one variable, the "
            "variance as a 0-d tensor.")
        .example(
            ">>> hw.cov(hw.tensor([[0.0, 2.0], [2.0, 0.0]]))\n"
            "tensor([[ 2., -2.],\n        [-2.,  2.]])")
        .in("input", "[n, m], [m] or 0-d", numeric)
        .attr("correction", 1, "subtracted from the number of observations in the divisor, which is at least 0")
        .keyword()
        .in_optional("fweights", "[m], how often each observation counts", integral)
        .in_optional("aweights", "[m], the importance of each observation", integral | floating)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          check_runtime(in[0].ndim() <= 2, "input must have at most two axes, got ", in[0]);
          const double correction = attrs[0].scalar().f64();
          Tensor x = in[0].ndim() == 2 ? in[0] : reshape(in[0], {1, in[0].numel()});
          if (dtype_bit(x.dtype()) & integral) x = to(x, DType::F32);
          check_runtime(x.size(1) > 0, "cov needs at least one observation, got ", in[0]);
          const bool f = in[1].defined(), a = in[2].defined();
          Tensor y;
          if (f || a) {
            const Tensor aw = a ? weights(x, "aweights", in[2]) : Tensor();
            Tensor w = f ? weights(x, "fweights", in[1]) : aw;
            if (f && a) w = w * aw;
            const Tensor total = sum(w);
            const Tensor lost =
                a && correction != 0 ? sum(w * aw) / total * Scalar(correction) : number(Scalar(correction));
            x = x - unsqueeze(sum(x * w, {1}) / total, 1);
            y = matmul(x * w, conj(transpose(x, 0, 1))) / maximum(total - lost, number(Scalar(0.0)));
          } else {
            x = x - mean(x, {1}, true);
            const double divisor = std::max(static_cast<double>(x.size(1)) - correction, 0.0);
            y = matmul(x, conj(transpose(x, 0, 1))) / Scalar(divisor);
          }
          return {y.size(0) == 1 ? reshape(y, {}) : y};
        });

}  // namespace hw
