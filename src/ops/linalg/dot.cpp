// dot: the sum of products of two vectors.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("dot")
        .doc(
            "Returns the sum of the products of two vectors of the same length. Complex numbers are not conjugated: "
            "see vdot.")
        .in("input", "[n]", numeric)
        .in("tensor", "[n]", numeric)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          check_runtime(in[0].ndim() == 1 && in[1].ndim() == 1, "both inputs must be vectors, got ", in[0].shape(),
                        " and ", in[1].shape());
          return {matmul(in[0], in[1])};
        });

}  // namespace hw
