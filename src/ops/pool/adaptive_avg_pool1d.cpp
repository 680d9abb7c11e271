// adaptive_avg_pool1d: means over windows that divide the last axis into output_size parts.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op =
    OpDef("adaptive_avg_pool1d")
        .doc("Means over windows that divide [length] into output_size parts. -1 keeps an axis as it is.")
        .in("input", "[batch, channels, length], or without batch", floating)
        .attr_required("output_size", AttrValue::Kind::Ints, "one size, or one for each axis")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          return {adaptive_avg_pool(in, attrs, 1)};
        });

}  // namespace hw
