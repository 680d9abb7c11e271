// atleast_1d: at least one axis.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("atleast_1d")
                                 .doc("Returns a view of the input with at least one axis.")
                                 .in("input", "any shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {in[0].ndim() >= 1 ? in[0] : reshape(in[0], {1})};
                                 });

}  // namespace hw
