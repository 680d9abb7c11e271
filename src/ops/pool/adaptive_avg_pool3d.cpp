// adaptive_avg_pool3d: means over windows that divide the last 3 axes into output_size parts.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op =
    OpDef("adaptive_avg_pool3d")
        .doc("Means over windows that divide [depth, height, width] into output_size parts. -1 keeps an axis as it is.")
        .in("input", "[batch, channels, depth, height, width], or without batch", floating)
        .attr_required("output_size", AttrValue::Kind::Ints, "one size, or one for each axis")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          return {adaptive_avg_pool(in, attrs, 3)};
        });

}  // namespace hw
