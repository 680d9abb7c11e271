// conv3d: cross-correlation over the last 3 axes.
#include "op/math.h"
#include "ops/conv/sizes.h"

namespace hw {

static const RegisterOp op =
    OpDef("conv3d")
        .doc(
            "Cross-correlates input with weight over [depth, height, width] and adds bias. padding may be 'same' (with "
            "a stride of 1) or 'valid'.")
        .in("input", "[batch, channels, depth, height, width], or without batch", floating)
        .in("weight", "[out_channels, channels / groups, depth, height, width]", floating)
        .in_optional("bias", "[out_channels]", floating)
        .attr("stride", Dims{1}, "steps of the window")
        .attr("padding", Dims{0}, "zeros on both sides, or 'same' or 'valid'")
        .or_text()
        .attr("dilation", Dims{1}, "distance between the points of the kernel")
        .attr("groups", 1, "groups of channels that do not see each other")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return {convolve(in, attrs, 3)}; });

}  // namespace hw
