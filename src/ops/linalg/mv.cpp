// mv: a matrix times a vector.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("mv")
        .doc("Returns the product of a matrix [m, k] and a vector [k].")
        .in("input", "[m, k]", numeric)
        .in("vec", "[k]", numeric)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          check_runtime(in[0].ndim() == 2 && in[1].ndim() == 1, "a matrix and a vector are needed, got ", in[0].shape(),
                        " and ", in[1].shape());
          return {matmul(in[0], in[1])};
        });

}  // namespace hw
