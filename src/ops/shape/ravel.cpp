// ravel: one axis.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("ravel")
                                 .doc("Returns the elements in row-major order along one axis; a view where possible.")
                                 .in("input", "any shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {reshape(in[0], {in[0].numel()})};
                                 });

}  // namespace hw
