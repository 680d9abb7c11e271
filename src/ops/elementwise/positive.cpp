// positive: x itself.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("positive")
        .doc("Returns x itself; defined so that +x works for numbers and not for bool.")
        .in("input", "any shape", numeric)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors { return {in[0]}; });

}  // namespace hw
