// fliplr: the second axis backwards.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("fliplr")
                                 .doc("Returns a copy with the second axis reversed.")
                                 .in("input", "at least two axes")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   check_runtime(in[0].ndim() >= 2, "at least two axes are needed, got ", in[0]);
                                   return {flip(in[0], {1})};
                                 });

}  // namespace hw
