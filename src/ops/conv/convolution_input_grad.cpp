// convolution_input_grad: the gradient of convolution for its input, which is also the transposed convolution.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/conv/sizes.h"

namespace hw {

static const Op convolution{"convolution"}, weight_grad{"convolution_weight_grad"};

static void input_grad_sbp(SbpCtx& c) {
  c.add({split(0), broadcast()}, {split(0)});
  c.add({partial_sum(), broadcast()}, {partial_sum()});
  c.add({broadcast(), partial_sum()}, {partial_sum()});
  if (c.attr("groups").i64() != 1) return;
  c.add({broadcast(), split(1)}, {split(1)});
  c.add({split(1), split(0)}, {partial_sum()});
}

static void input_grad_grad(GradCtx& g) {
  const Attrs& a = g.attrs();
  Tensor dy = g.dy();  // has the shape of the convolution's input
  if (g.needs(0)) g.dx(0, convolution({dy, g.in(1), Tensor()}, {a[1], a[2], a[3], a[4]}));
  if (g.needs(1)) g.dx(1, weight_grad({g.in(0), dy}, {g.in_spec(1).shape, a[1], a[2], a[3], a[4]}));
}

static double input_grad_flops(const InferCtx& c) {
  const int64_t taps = c.in[1].numel() / std::max<int64_t>(1, c.in[1].shape[0]);  // per element of the gradient
  return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(taps);
}

static const RegisterOp op =
    OpDef("convolution_input_grad")
        .doc("The gradient of a convolution with respect to its input, of shape input_shape.")
        .in("dy", "[batch, out_channels, ...]", floating)
        .in("weight", "[out_channels, channels / groups, ...]", floating)
        .attr_required("input_shape", AttrValue::Kind::Ints,
                       "shape of the convolution's input; batch and channels follow from the inputs")
        .attr("stride", Dims{1})
        .attr("padding", Dims{0})
        .attr("dilation", Dims{1})
        .attr("groups", 1)
        .out("dx", dtype::same, convolution_input_shape)
        .internal()
        .autocast(Autocast::Lower)
        .sbp(input_grad_sbp)
        .flops(input_grad_flops)
        .grad("dy weight", input_grad_grad)
        .onnx("ConvTranspose");

}  // namespace hw
