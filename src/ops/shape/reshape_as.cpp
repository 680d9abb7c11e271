// reshape_as: reshape to the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("reshape_as")
                                 .doc("Returns the input reshaped to the shape of `other`.")
                                 .in("input", "any shape")
                                 .in("other", "gives the shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {reshape(in[0], in[1].shape())};
                                 });

}  // namespace hw
