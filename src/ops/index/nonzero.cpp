// nonzero: where the elements that are not zero lie.
#include "op/call.h"

namespace hw {

static const RegisterOp op =
    OpDef("nonzero")
        .doc("Returns the indices of the elements that are not zero, one row of int64 per element, in row-major order.")
        .example(">>> hw.nonzero(hw.tensor([[0, 7], [8, 0]]))\ntensor([[0, 1],\n        [1, 0]])")
        .in("input", "any shape")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op count{"_nonzero_count"}, fill{"_nonzero"};
          Tensor x = in[0].alias();
          return {fill({x}, {count({x}).item().i64()})};
        });

}  // namespace hw
