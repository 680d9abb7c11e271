// argwhere: nonzero under NumPy's name.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("argwhere")
                                 .doc("Returns the indices of the elements that are not zero, one row for each.")
                                 .in("input", "any shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op nonzero{"nonzero"};
                                   return {nonzero({in[0]})};
                                 });

}  // namespace hw
