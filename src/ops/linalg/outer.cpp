// outer: all products of the elements of two vectors.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("outer")
        .doc("Returns the matrix of all products input[i] * vec2[j].")
        .in("input", "[n]")
        .in("vec2", "[m]")
        .numbers(NumberRule::Wraps)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          check_runtime(in[0].ndim() == 1 && in[1].ndim() == 1, "both inputs must be vectors, got ", in[0].shape(),
                        " and ", in[1].shape());
          return {unsqueeze(in[0], 1) * unsqueeze(in[1], 0)};
        });

}  // namespace hw
