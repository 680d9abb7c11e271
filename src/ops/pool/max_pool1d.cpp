// max_pool1d: the largest value of each window over the last axis.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op =
    OpDef("max_pool1d")
        .doc(
            "The largest value of each window over [length]. With indices: "
            "max_pool1d_with_indices, or return_indices=True.")
        .in("input", "[batch, channels, length], or without batch", integral | floating)
        .attr_required("kernel_size", AttrValue::Kind::Ints, "size of the window")
        .attr_none("stride", AttrValue::Kind::Ints, "steps of the window; None: kernel_size")
        .attr("padding", Dims{0}, "points on both sides that never win")
        .attr("dilation", Dims{1}, "distance between the points of a window")
        .attr("ceil_mode", false, "whether a window may reach over the end")
        .attr("return_indices", false, "whether the indices are returned too")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return max_pool(in, attrs, 1); });

}  // namespace hw
