// convolution_weight_grad: the gradient of convolution for its weight.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/conv/sizes.h"

namespace hw {

static const Op convolution{"convolution"}, input_grad{"convolution_input_grad"};

static void weight_grad_sbp(SbpCtx& c) {
  c.add({split(0), split(0)}, {partial_sum()});
  c.add({partial_sum(), broadcast()}, {partial_sum()});
  c.add({broadcast(), partial_sum()}, {partial_sum()});
  if (c.attr("groups").i64() != 1) return;
  c.add({split(1), broadcast()}, {split(0)});
  c.add({broadcast(), split(1)}, {split(1)});
}

static void weight_grad_grad(GradCtx& g) {
  const Attrs& a = g.attrs();
  Tensor dw = g.dy();  // has the shape of the weight
  if (g.needs(0)) {
    // The strided convolution may end before the last input points; its output then has the size of dy all the same.
    g.dx(0, convolution({g.in(1), dw, Tensor()}, {a[1], a[2], a[3], a[4]}));
  }
  if (g.needs(1)) g.dx(1, input_grad({g.in(0), dw}, {g.in_spec(1).shape, a[1], a[2], a[3], a[4]}));
}

static double weight_grad_flops(const InferCtx& c) {
  Dims w = convolution_weight_shape(c);
  const int64_t taps = numel(w) / std::max<int64_t>(1, w[0]);  // per element of the input
  return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(taps);
}

static const RegisterOp op =
    OpDef("convolution_weight_grad")
        .doc("The gradient of a convolution with respect to its weight, of shape weight_shape.")
        .in("dy", "[batch, out_channels, ...]", floating)
        .in("input", "[batch, channels, ...]", floating)
        .attr_required("weight_shape", AttrValue::Kind::Ints, "shape of the weight; channels follow from the inputs")
        .attr("stride", Dims{1})
        .attr("padding", Dims{0})
        .attr("dilation", Dims{1})
        .attr("groups", 1)
        .out("dw", dtype::same, convolution_weight_shape)
        .internal()
        .autocast(Autocast::Lower)
        .sbp(weight_grad_sbp)
        .flops(weight_grad_flops)
        .grad("dy input", weight_grad_grad)
        .no_onnx("a gradient");

}  // namespace hw
