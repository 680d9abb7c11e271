// conv_transpose2d: transposed convolution over the last 2 axes.
#include "op/math.h"
#include "ops/conv/sizes.h"

namespace hw {

static const RegisterOp op = OpDef("conv_transpose2d")
                                 .doc(
                                     "The transposed convolution of input with weight over [height, width], which is "
                                     "the gradient of conv2d for its input; plus bias.")
                                 .in("input", "[batch, in_channels, height, width], or without batch", floating)
                                 .in("weight", "[in_channels, out_channels / groups, height, width]", floating)
                                 .in_optional("bias", "[out_channels]", floating)
                                 .attr("stride", Dims{1}, "steps of the window")
                                 .attr("padding", Dims{0}, "points taken off both sides of the output")
                                 .attr("output_padding", Dims{0}, "points added to the far side of the output")
                                 .attr("groups", 1, "groups of channels that do not see each other")
                                 .attr("dilation", Dims{1}, "distance between the points of the kernel")
                                 .out("y")
                                 .method(false)
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {convolve_transposed(in, attrs, 2)};
                                 });

}  // namespace hw
