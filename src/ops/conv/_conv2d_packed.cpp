// _conv2d_packed: a two-dimensional convolution on blocked images and packed weights, with all that follows it up to an activation.
#include "base/error.h"
#include "op/rules.h"
#include "ops/conv/packed.h"
#include "ops/conv/sizes.h"

namespace hw {

constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static int64_t checked_block(int64_t block) {
  check_runtime(block == 8 || block == 16, "blocks are 8 or 16 channels, got ", block);
  return block;
}

PackedSizes packed_sizes(const InferCtx& c) {
  const Dims &x = c.in[0].shape, &w = c.in[1].shape;
  check_runtime(
      x.size() == 4 || x.size() == 5,
      "input must be [batch, channels, height, width] or [batch, channels / block, height, width, block], got ", x);
  check_runtime(w.size() >= 4 && w.size() <= 7, "weight has no packed shape: ", w);
  PackedSizes s;
  s.block_out = checked_block(w.back());
  s.block_in = x.size() == 5 ? checked_block(x[4]) : 1;
  s.in_channels = x[1] * s.block_in;
  if (w.size() == 4) {  // depthwise: [channels / block, kernel, kernel, block]
    s.groups = s.out_channels = w[0] * s.block_out;
    s.kernel[0] = w[1], s.kernel[1] = w[2];
    check_runtime(s.groups == s.in_channels && s.block_in == s.block_out, "input ", x, " does not fit the weight ", w,
                  " of a depthwise convolution");
    return s;
  }
  if (w.size() == 5) {  // of a plain image: [out / block, kernel, kernel, in, block]
    s.out_channels = w[0] * s.block_out;
    s.kernel[0] = w[1], s.kernel[1] = w[2];
    check_runtime(x.size() == 4 && w[3] == s.in_channels, "input ", x, " does not fit the weight ", w);
    return s;
  }
  const size_t at = w.size() - 6;  // groups in front
  s.groups = at ? w[0] : 1;
  s.out_channels = s.groups * w[at] * s.block_out;
  s.kernel[0] = w[at + 2], s.kernel[1] = w[at + 3];
  check_runtime(w[at + 4] == s.block_in && x.size() == 5 && s.groups * w[at + 1] == x[1], "input ", x,
                " does not fit the weight ", w);
  return s;
}

static Dims packed_shape(const InferCtx& c) {
  const PackedSizes s = packed_sizes(c);
  const Dims& x = c.in[0].shape;
  Dims y{x[0], s.out_channels / s.block_out};
  for (int64_t a = 0; a < 2; ++a) {
    const int64_t stride = per_axis(c.attr("stride"), a, 2, "stride"),
                  pad = per_axis(c.attr("padding"), a, 2, "padding"),
                  dilation = per_axis(c.attr("dilation"), a, 2, "dilation"), in = x[static_cast<size_t>(a) + 2];
    check_runtime(stride > 0 && dilation > 0 && pad >= 0,
                  "stride and dilation must be positive and padding not negative");
    const int64_t span = in + 2 * pad - dilation * (s.kernel[a] - 1) - 1;
    check_runtime(span >= 0, "input ", x, " with padding=", pad, " is smaller than the kernel");
    y.push_back(span / stride + 1);
  }
  y.push_back(s.block_out);
  const TensorSpec &bias = c.in[2], &residual = c.in[3];
  check_runtime(!bias.given() || bias.shape == Dims{s.out_channels}, "bias ", bias.shape, " does not fit ",
                s.out_channels, " output channels");
  check_runtime(!residual.given() || residual.shape == y, "residual ", residual.shape, " is added to ", y);
  return y;
}

static double packed_flops(const InferCtx& c) {
  const PackedSizes s = packed_sizes(c);
  double n = 2.0 * static_cast<double>(s.in_channels / s.groups * s.kernel[0] * s.kernel[1]);
  for (int64_t size : packed_shape(c)) n *= static_cast<double>(size);
  return n;
}

static const RegisterOp op =
    OpDef("_conv2d_packed")
        .doc(
            "activation(conv2d(input, weight, bias) + residual) on blocked images. The output's block is the weight's "
            "last "
            "axis. Activations: none, relu, clamp (to [low, high]), sigmoid, silu, hardswish.")
        .in("input",
            "[batch, channels / block, height, width, block] (block 8 or 16), or [batch, channels, height, width]",
            f32_only)
        .in("weight",
            "[out / block, in / block, kernel, kernel, block of in, block of out], with the groups in front if there "
            "are "
            "several; [out / block, kernel, kernel, in, block] for an input that is not blocked; "
            "[channels / block, kernel, kernel, block] for a depthwise convolution",
            f32_only)
        .in_optional("bias", "[out_channels]", f32_only)
        .in_optional("residual", "like the output", f32_only)
        .attr("stride", Dims{1})
        .attr("padding", Dims{0}, "zeros on both sides")
        .attr("dilation", Dims{1})
        .attr("activation", "none")
        .attr("low", 0.0, "of clamp")
        .attr("high", 0.0, "of clamp")
        .out("y", dtype::same, packed_shape)
        .internal()
        .no_sbp("a plan's own form: convolutions are split before layouts are chosen")
        .flops(packed_flops)
        .no_grad("for inference; conv2d has the gradient")
        .no_onnx("a plan's own form of Conv");

}  // namespace hw
