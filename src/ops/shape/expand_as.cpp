// expand_as: expand to the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("expand_as")
                                 .doc("Returns the input expanded to the shape of `other`, without copying.")
                                 .in("input", "any shape")
                                 .in("other", "gives the shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {expand(in[0], in[1].shape())};
                                 });

}  // namespace hw
