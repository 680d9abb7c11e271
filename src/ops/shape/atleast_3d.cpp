// atleast_3d: at least three axes.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("atleast_3d")
        .doc("Returns a view of the input with at least three axes; a matrix gets one at the end.")
        .in("input", "any shape")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          if (in[0].ndim() >= 3) return {in[0]};
          if (in[0].ndim() == 2) return {unsqueeze(in[0], 2)};
          return {in[0].ndim() == 1 ? unsqueeze(unsqueeze(in[0], 0), 2) : reshape(in[0], {1, 1, 1})};
        });

}  // namespace hw
