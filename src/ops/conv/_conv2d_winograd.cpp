// _conv2d_winograd: a 3x3 convolution of stride 1 or 2 by packed weights, with fewer multiplications.
#include <cmath>

#include "base/error.h"
#include "op/rules.h"

namespace hw {

constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static Dims winograd_shape(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &packed = c.in[1], &bias = c.in[2];
  const int64_t out_channels = c.attr("out_channels").i64(), tile = c.attr("tile").i64();
  const Dims& padding = c.attr("padding").ints();
  const int64_t stride = c.attr("stride").i64();
  check_runtime(tile == 2 || tile == 4, "tile must be 2 or 4, got ", tile);
  check_runtime(stride == 1 || (stride == 2 && tile == 4), "stride must be 1, or 2 with tile=4; got ", stride,
                " with tile=", tile);
  const int64_t block = x.ndim() == 5 ? x.shape[4] : 1;
  check_runtime(
      x.ndim() == 4 || (x.ndim() == 5 && (block == 8 || block == 16)),
      "input must be [batch, channels, height, width] or [batch, channels / block, height, width, block] with a "
      "block of 8 or 16, got ",
      x.shape);
  check_runtime(out_channels > 0 && out_channels % block == 0, "out_channels must be a positive multiple of ", block,
                ", got ", out_channels);
  const Dims expected{(out_channels + 15) / 16, (tile + 2) * (tile + 2), (x.shape[1] * block + 3) / 4 * 4, 16};
  check_runtime(packed.shape == expected, "packed is ", packed.shape, ", an input ", x.shape, " to ", out_channels,
                " channels with tile=", tile, " needs ", expected);
  check_runtime(!bias.given() || (bias.ndim() == 1 && bias.shape[0] == out_channels), "bias ", bias.shape,
                " does not fit ", out_channels, " output channels");
  check_runtime(padding.size() == 1 || padding.size() == 2, "padding needs one value or 2, got ", padding);
  Dims y{x.shape[0], out_channels / block};
  for (size_t a = 0; a < 2; ++a) {
    const int64_t pad = padding[padding.size() == 1 ? 0 : a], room = x.shape[a + 2] + 2 * pad - 3;
    check_runtime(pad >= 0 && pad < int64_t{1} << 31 && room >= 0, "input ", x.shape, " with padding=", padding,
                  " is smaller than the kernel");
    y.push_back(room / stride + 1);
  }
  if (block > 1) y.push_back(block);
  check_runtime(!c.in[3].given() || c.in[3].shape == y, "residual ", c.in[3].shape, " is added to ", y);
  return y;
}

static double winograd_flops(const InferCtx& c) {
  const Dims y = winograd_shape(c);
  const int64_t tile = c.attr("tile").i64();
  const int64_t tiles = y[0] * ((y[2] + tile - 1) / tile) * ((y[3] + tile - 1) / tile);
  const double each = c.attr("stride").i64() == 1 ? 1.0 : 81.0 / 36.0;  // products to a weight
  return 2.0 * each * static_cast<double>(tiles) * static_cast<double>(c.in[1].numel());
}

static const RegisterOp op =
    OpDef("_conv2d_winograd")
        .doc(
            "clamp(conv2d(input, weight, bias, stride, padding) + residual, low, high) for a 3x3 weight that "
            "_winograd_pack_weight packed with the same tile and stride. Tile 2 takes 2.25 times fewer multiplications "
            "and errs "
            "by at most 3e-6 of the "
            "largest result, tile 4 takes 4 times fewer and errs by at most 2e-5 (up to 2048 channels of normal data); "
            "with stride 2 it takes 1.78 times fewer and errs by at most 6e-6.")
        .in("input",
            "[batch, channels, height, width], or [batch, channels / block, height, width, block] (block 8 or 16)",
            f32_only)
        .in("packed", "what _winograd_pack_weight made of the weight", f32_only)
        .in_optional("bias", "[out_channels]", f32_only)
        .in_optional("residual", "added; like the output", f32_only)
        .attr_required("out_channels", AttrValue::Kind::Int,
                       "channels of the output, whose layout is that of the input")
        .attr("tile", 4, "outputs of one tile along each axis, 2 or 4")
        .attr("padding", Dims{0}, "zeros on both sides")
        .attr("low", -INFINITY, "smaller results become this: 0 for relu")
        .attr("high", INFINITY, "larger results become this")
        .attr("stride", 1, "of both axes, 1 or 2; 2 needs tile 4")
        .out("y", dtype::same, winograd_shape)
        .internal()
        .sbp([](SbpCtx& c) {
          c.add({split(0), broadcast(), broadcast(), split(0)}, {split(0)});
        })
        .flops(winograd_flops)
        .no_grad("for inference; conv2d has the gradient")
        .no_onnx("a plan's own form of Conv");

}  // namespace hw
