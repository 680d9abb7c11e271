// adaptive_max_pool2d: the largest values over windows that divide the last 2 axes into output_size parts.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op = OpDef("adaptive_max_pool2d")
                                 .doc(
                                     "The largest values over windows that divide [height, width] into output_size "
                                     "parts. -1 keeps an axis as it is.")
                                 .in("input", "[batch, channels, height, width], or without batch", integral | floating)
                                 .attr_required("output_size", AttrValue::Kind::Ints, "one size, or one for each axis")
                                 .attr("return_indices", false, "whether the flat indices are returned too")
                                 .out("y")
                                 .method(false)
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return adaptive_max_pool(in, attrs, 2);
                                 });

}  // namespace hw
