// contiguous: the same values in row-major memory.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("contiguous")
        .doc("Returns the input itself if its memory is row-major and without gaps, else a copy that is.")
        .in("input", "any shape")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return {contiguous(in[0])}; });

}  // namespace hw
