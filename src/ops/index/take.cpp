// take: elements of the flattened input.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("take")
        .doc("Returns the elements of the flattened input at `index`, in the shape of `index`.")
        .in("input", "any shape")
        .in("index", "positions; negative ones count from the end", index_types)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op index{"index"};
          return {index({reshape(in[0], {in[0].numel()}), in[1]})};
        });

}  // namespace hw
