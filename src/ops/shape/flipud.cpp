// flipud: the first axis backwards.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("flipud")
                                 .doc("Returns a copy with the first axis reversed.")
                                 .in("input", "at least one axis")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   check_runtime(in[0].ndim() >= 1, "at least one axis is needed, got ", in[0]);
                                   return {flip(in[0], {0})};
                                 });

}  // namespace hw
