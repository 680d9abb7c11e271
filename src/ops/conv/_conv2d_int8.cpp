// _conv2d_int8: a two-dimensional convolution of bytes in integers, scaled to floats or quantised anew.
#include <algorithm>

#include "base/error.h"
#include "op/rules.h"
#include "ops/conv/sizes.h"

namespace hw {

static constexpr DTypeSet bytes = dtype_bit(DType::U8) | dtype_bit(DType::I8);
static constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static Dims weight_shape(const InferCtx& c, int64_t in_channels, int64_t out, bool depthwise) {
  const int64_t kernel[2] = {per_axis(c.attr("kernel"), 0, 2, "kernel"), per_axis(c.attr("kernel"), 1, 2, "kernel")};
  check_runtime(kernel[0] > 0 && kernel[1] > 0 && kernel[0] < 4096 && kernel[1] < 4096, "kernel ", kernel[0], " by ",
                kernel[1]);
  if (depthwise) return {(out + 15) / 16, (kernel[0] * kernel[1] + 1) / 2, 2, 16};
  return {(out + 7) / 8, kernel[0], kernel[1], (in_channels + 3) / 4, 8, 4};
}

static void check_beside(const InferCtx& c, const Dims& y, DType input) {
  const auto one = [&](size_t i, const char* name) {
    check_runtime(!c.in[i].given() || c.in[i].numel() == 1, name, " must be one number, got ", c.in[i].shape);
  };
  one(3, "zero"), one(6, "residual_scale"), one(7, "residual_zero"), one(8, "out_scale"), one(9, "out_zero");
  check_runtime(!c.in[3].given() || c.in[3].dtype == input, "zero is ", c.in[3].dtype, ", the input ", input);
  const TensorSpec& residual = c.in[5];
  check_runtime(!residual.given() || residual.shape == y, "residual ", residual.shape, " is added to ", y);
  const bool steps = residual.given() && residual.dtype != DType::F32;
  check_runtime(steps == c.in[6].given(), "residual_scale goes with a residual of bytes");
  check_runtime(!c.in[7].given() || (steps && c.in[7].dtype == residual.dtype),
                "residual_zero goes with a residual of its dtype");
  check_runtime(!c.in[9].given() || c.in[8].given(), "out_zero goes with out_scale");
}

static Dims conv_shape(const InferCtx& c) {
  const Dims& x = c.in[0].shape;
  check_runtime(x.size() == 4 || (x.size() == 5 && (x[4] == 8 || x[4] == 16)),
                "input must be [batch, channels, height, width] or [batch, channels / block, height, width, block] "
                "with blocks of 8 or 16, got ",
                x);
  const int64_t channels = x[1] * (x.size() == 5 ? x[4] : 1), out = c.attr("out_channels").i64();
  const int64_t block = c.attr("block").i64();
  check_runtime(block == 8 || block == 16, "blocks are 8 or 16 channels, got ", block);
  check_runtime(out > 0 && out % block == 0, out, " output channels do not divide into blocks of ", block);
  const bool depthwise = c.in[1].ndim() == 4;
  check_runtime(!depthwise || (channels == out && x.size() == 5), "a depthwise convolution of ", x, " to ", out,
                " channels");
  const Dims expected = weight_shape(c, channels, out, depthwise);
  check_runtime(c.in[1].shape == expected, "packed is ", c.in[1].shape, ", needed is ", expected);
  Dims y{x[0], out / block};
  for (int64_t a = 0; a < 2; ++a) {
    const int64_t stride = per_axis(c.attr("stride"), a, 2, "stride"),
                  pad = per_axis(c.attr("padding"), a, 2, "padding"),
                  dilation = per_axis(c.attr("dilation"), a, 2, "dilation"), in = x[static_cast<size_t>(a) + 2];
    check_runtime(stride > 0 && dilation > 0 && pad >= 0 && stride < 4096 && dilation < 4096 && pad < 4096,
                  "stride=", stride, ", padding=", pad, ", dilation=", dilation);
    const int64_t span = in + 2 * pad - dilation * (per_axis(c.attr("kernel"), a, 2, "kernel") - 1) - 1;
    check_runtime(span >= 0, "input ", x, " with padding=", pad, " is smaller than the kernel");
    y.push_back(span / stride + 1);
  }
  y.push_back(block);
  for (size_t i : {2, 4})
    check_runtime(!c.in[i].given() || c.in[i].shape == Dims{out}, i == 2 ? "scale " : "offset ", c.in[i].shape,
                  " does not fit ", out, " channels");
  const std::string& activation = c.attr("activation").text();
  check_runtime(activation == "none" || activation == "relu" || activation == "clamp",
                "activation is none, relu or clamp, got \"", activation, "\"");
  check_beside(c, y, c.in[0].dtype);
  return y;
}

/// f32, or the dtype of out_zero (uint8 without it) where the result is quantised.
static DType conv_dtype(const InferCtx& c) {
  if (!c.in[8].given()) return DType::F32;
  return c.in[9].given() ? c.in[9].dtype : DType::U8;
}

static double conv_flops(const InferCtx& c) {
  const TensorSpec& w = c.in[1];
  const double taps = static_cast<double>(w.ndim() == 4 ? w.shape[1] * 2 : w.shape[1] * w.shape[2] * w.shape[3] * 4);
  double n = 2.0 * taps;
  for (int64_t size : conv_shape(c)) n *= static_cast<double>(size);
  return n;
}

static void check_both(const InferCtx& c) {
  check_runtime(c.in[8].given(), "out_scale is what the second output is quantised by");
}
static Dims both_shape(const InferCtx& c) {
  check_both(c);
  return conv_shape(c);
}
static DType float_dtype(const InferCtx&) { return DType::F32; }

static OpDef declare(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .in("input",
          "[batch, channels / block, height, width, block] (block 8 or 16), or [batch, channels, height, "
          "width]",
          bytes)
      .in("packed", "what _pack_int8_conv_weight made of the weight W", dtype_bit(DType::I8))
      .in("scale", "[out_channels]: scale of the input times scale of the weight's channel", f32_only)
      .in_optional("zero", "one number: the input's zero point, which stands in the padding too", bytes)
      .in_optional("offset", "[out_channels]: the bias", f32_only)
      .in_optional("residual", "like the output", bytes | f32_only)
      .in_optional("residual_scale", "one number", f32_only)
      .in_optional("residual_zero", "one number", bytes)
      .in_optional("out_scale", "one number: the result is quantised by it", f32_only)
      .in_optional("out_zero", "one number: its zero point, of the result's dtype", bytes)
      .attr_required("out_channels", AttrValue::Kind::Int, "channels of the output")
      .attr("kernel", Dims{1})
      .attr("stride", Dims{1})
      .attr("padding", Dims{0}, "zeros on both sides")
      .attr("dilation", Dims{1})
      .attr("activation", "none", "none, relu, or clamp (to [low, high])")
      .attr("block", 8, "channels of the output that lie side by side, 8 or 16")
      .attr("low", 0.0, "of clamp")
      .attr("high", 0.0, "of clamp")
      .internal()
      .no_sbp("a plan's own form: convolutions are split before layouts are chosen")
      .flops(conv_flops)
      .no_grad("for inference; fake_quantize has a gradient")
      .no_onnx("a plan's own form of QLinearConv");
}

static const RegisterOp op =
    declare("_conv2d_int8",
            "activation(scale * conv2d(input - zero, W) + offset + residual) on images of bytes, where the convolution "
            "is a sum of products of integers, exact in int32 up to 66,000 products. With out_scale the result is "
            "divided by it, rounded to even, moved by out_zero and saturated. A residual of bytes counts as "
            "(residual - residual_zero) * residual_scale.")
        .out("y", conv_dtype, conv_shape);

static const RegisterOp both = declare("_conv2d_int8_both", "_conv2d_int8 before its result is quantised, and after.")
                                   .out("y", float_dtype, both_shape)
                                   .out("steps", conv_dtype, both_shape);

}  // namespace hw
