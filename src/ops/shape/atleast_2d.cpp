// atleast_2d: at least two axes.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("atleast_2d")
                                 .doc("Returns a view of the input with at least two axes; a new one is put in front.")
                                 .in("input", "any shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   if (in[0].ndim() >= 2) return {in[0]};
                                   return {in[0].ndim() == 1 ? unsqueeze(in[0], 0) : reshape(in[0], {1, 1})};
                                 });

}  // namespace hw
