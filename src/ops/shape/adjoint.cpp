// adjoint: the conjugate transpose.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("adjoint")
                                 .doc("Returns the input with its last two axes swapped, conjugated if it is complex.")
                                 .in("input", "at least two axes")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   check_runtime(in[0].ndim() >= 2, "adjoint() needs two axes, got ", in[0]);
                                   return {conj(mT(in[0]))};
                                 });

}  // namespace hw
