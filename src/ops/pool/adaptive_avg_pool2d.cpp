// adaptive_avg_pool2d: means over windows that divide the last 2 axes into output_size parts.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op =
    OpDef("adaptive_avg_pool2d")
        .doc("Means over windows that divide [height, width] into output_size parts. -1 keeps an axis as it is.")
        .in("input", "[batch, channels, height, width], or without batch", floating)
        .attr_required("output_size", AttrValue::Kind::Ints, "one size, or one for each axis")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          return {adaptive_avg_pool(in, attrs, 2)};
        });

}  // namespace hw
