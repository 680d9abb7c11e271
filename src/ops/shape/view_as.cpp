// view_as: view under the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("view_as")
                                 .doc("Returns a view of the input under the shape of `other`.")
                                 .in("input", "any shape")
                                 .in("other", "gives the shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op view{"view"};
                                   return {view({in[0]}, {in[1].shape()})};
                                 });

}  // namespace hw
