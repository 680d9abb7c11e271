// vdot: the sum of products of two vectors, the first one conjugated.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("vdot")
        .doc("Returns the sum of the products of the conjugate of input with other, two vectors of the same length.")
        .in("input", "[n]", numeric)
        .in("other", "[n]", numeric)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          check_runtime(in[0].ndim() == 1 && in[1].ndim() == 1, "both inputs must be vectors, got ", in[0].shape(),
                        " and ", in[1].shape());
          return {matmul(conj(in[0]), in[1])};
        });

}  // namespace hw
