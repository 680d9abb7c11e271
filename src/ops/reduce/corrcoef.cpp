// corrcoef: correlation coefficients.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("corrcoef")
        .doc(
            "Returns Pearson's correlation coefficients [n, n] of n variables (rows) over m observations (columns), "
            "clamped to -1 .. 1; of one variable a 0-d tensor. A variable that never changes gives NaN.")
        .example(
            ">>> hw.corrcoef(hw.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))\n"
            "tensor([[ 1., -1.],\n        [-1.,  1.]])")
        .in("input", "[n, m] or [m]", integral | floating)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op cov{"cov"}, diagonal{"diagonal"}, clamp{"clamp"};
          const Tensor c = cov({in[0], Tensor(), Tensor()});
          if (c.ndim() == 0) return {c / c};
          const Tensor deviation = sqrt(diagonal({c}));
          return {
              clamp({c / unsqueeze(deviation, 1) / unsqueeze(deviation, 0), number(Scalar(-1)), number(Scalar(1))})};
        });

}  // namespace hw
