// avg_pool3d: the mean of each window over the last 3 axes.
#include "op/math.h"
#include "ops/pool/pools.h"

namespace hw {

static const RegisterOp op =
    OpDef("avg_pool3d")
        .doc("The mean of each window over [depth, height, width].")
        .in("input", "[batch, channels, depth, height, width], or without batch", floating)
        .attr_required("kernel_size", AttrValue::Kind::Ints, "size of the window")
        .attr_none("stride", AttrValue::Kind::Ints, "steps of the window; None: kernel_size")
        .attr("padding", Dims{0}, "zeros on both sides")
        .attr("ceil_mode", false, "whether a window may reach over the end")
        .attr("count_include_pad", true, "whether padding counts as points")
        .attr_none("divisor_override", AttrValue::Kind::Int,
                   "what sums are divided by, instead of the number of points")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return {avg_pool(in, attrs, 3)}; });

}  // namespace hw
