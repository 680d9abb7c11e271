// _pack_int8_conv_weight: the int8 weight of a convolution in the order in which _conv2d_int8 reads it.
#include "base/error.h"
#include "op/rules.h"

namespace hw {

static Dims packed_shape(const InferCtx& c) {
  const Dims& w = c.in[0].shape;
  check_runtime(w.size() == 4, "weight must have 4 axes [out, in, kernel, kernel], got ", w);
  if (c.attr("depthwise").truth()) {
    check_runtime(w[1] == 1, "the weight of a depthwise convolution is [channels, 1, kernel, kernel], got ", w);
    return {(w[0] + 15) / 16, (w[2] * w[3] + 1) / 2, 2, 16};
  }
  return {(w[0] + 7) / 8, w[2], w[3], (w[1] + 3) / 4, 8, 4};
}

static const RegisterOp op =
    OpDef("_pack_int8_conv_weight")
        .doc(
            "Puts quads of input channels of eight output channels side by side, with zeros where there are none: "
            "element (o, c, k, l) goes to [o / 8, k, l, c / 4, o % 8, c % 4]. Of a depthwise convolution it puts 16 "
            "channels side by side, and two kernel points in a pair.")
        .in("weight", "[out, in, kernel, kernel]", dtype_bit(DType::I8))
        .attr("depthwise", false, "whether each channel has its own image")
        .out("packed", dtype::same, packed_shape)
        .internal()
        .no_sbp("channels lie side by side, and parts need not be multiples of their number")
        .flops([](const InferCtx&) { return 0.0; })
        .no_grad("integer output")
        .no_onnx("a plan's own form of the weight");

}  // namespace hw
