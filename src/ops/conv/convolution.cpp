// convolution: what conv1d, conv2d and conv3d call, for any number of spatial axes.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/conv/sizes.h"

namespace hw {

static const Op input_grad{"convolution_input_grad"}, weight_grad{"convolution_weight_grad"};

static void convolution_sbp(SbpCtx& c) {
  bool bias = c.in()[2].given();
  c.add({split(0), broadcast(), broadcast()}, {split(0)});
  if (c.attr("groups").i64() != 1) return;
  c.add({broadcast(), split(0), bias ? split(0) : broadcast()}, {split(1)});
  if (bias) return;
  c.add({split(1), split(1), broadcast()}, {partial_sum()});
  c.add({partial_sum(), broadcast(), broadcast()}, {partial_sum()});
}

static double convolution_flops(const InferCtx& c) {
  Dims y = convolution_shape(c);
  const int64_t taps = c.in[1].numel() / std::max<int64_t>(1, c.in[1].shape[0]);  // per output element
  return 2.0 * static_cast<double>(numel(y)) * static_cast<double>(taps);
}

static void convolution_grad(GradCtx& g) {
  const Attrs& a = g.attrs();
  Tensor dy = g.dy();
  if (g.needs(0)) g.dx(0, input_grad({dy, g.in(1)}, {g.in_spec(0).shape, a[0], a[1], a[2], a[3]}));
  if (g.needs(1)) g.dx(1, weight_grad({dy, g.in(0)}, {g.in_spec(1).shape, a[0], a[1], a[2], a[3]}));
  if (!g.needs(2)) return;
  Dims axes{0};
  for (int64_t axis = 2; axis < dy.ndim(); ++axis) axes.push_back(axis);
  g.dx(2, sum(dy, axes));
}

static const RegisterOp op =
    OpDef("convolution")
        .doc("Cross-correlates input with weight over one to three spatial axes, and adds bias.")
        .in("input", "[batch, channels, ...]", floating)
        .in("weight", "[out_channels, channels / groups, ...]", floating)
        .in_optional("bias", "[out_channels]", floating)
        .attr("stride", Dims{1}, "steps of the window")
        .attr("padding", Dims{0}, "zeros on both sides")
        .attr("dilation", Dims{1}, "distance between the points of the kernel")
        .attr("groups", 1, "groups of channels that do not see each other")
        .out("y", dtype::same, convolution_shape)
        .internal()
        .autocast(Autocast::Lower)
        .sbp(convolution_sbp)
        .flops(convolution_flops)
        .grad("input:weight weight:input", convolution_grad)
        .onnx("Conv");

}  // namespace hw
