// adaptive_max_pool1d: the largest values over windows that divide the last axis into output_size parts.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op =
    OpDef("adaptive_max_pool1d")
        .doc("The largest values over windows that divide [length] into output_size parts. -1 keeps an axis as it is.")
        .in("input", "[batch, channels, length], or without batch", integral | floating)
        .attr_required("output_size", AttrValue::Kind::Ints, "one size, or one for each axis")
        .attr("return_indices", false, "whether the flat indices are returned too")
        .out("y")
        .method(false)
        .composite(
            [](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return adaptive_max_pool(in, attrs, 1); });

}  // namespace hw
