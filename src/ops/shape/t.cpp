// t: the transpose of a matrix.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("t")
        .doc("Returns the transpose of a matrix; a tensor with fewer axes as it is.")
        .in("input", "at most two axes")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          check_runtime(in[0].ndim() <= 2, "t() takes at most two axes, got ", in[0], "; use mT or transpose()");
          return {in[0].ndim() < 2 ? in[0] : transpose(in[0], 0, 1)};
        });

}  // namespace hw
