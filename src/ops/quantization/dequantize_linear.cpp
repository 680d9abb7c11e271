// dequantize_linear: the values that quantised integers stand for.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/quantization/steps.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  steps_axis(c);
  return {like_input(c.in[0], c.in[1].wrapped ? default_dtype() : c.in[1].dtype)};
}

/// The integers are exact, so that the result is linear in the scale.
static void scale_gradient(GradCtx& g) {
  const Tensor dy = g.dy();
  Tensor steps = to(g.in(0), dy.dtype());
  if (g.in(2).defined()) steps = steps - along_axis(to(g.in(2), dy.dtype()), g.attr("axis"), dy.ndim());
  Tensor product = dy * steps;
  if (g.attr("axis").none()) return g.dx(1, reshape(sum(product), g.in_spec(1).shape));
  Dims rest;
  const int64_t own = normalize_axis(g.attr("axis").i64(), dy.ndim());
  for (int64_t a = 0; a < dy.ndim(); ++a)
    if (a != own) rest.push_back(a);
  g.dx(1, rest.empty() ? product : sum(product, rest));
}

static const RegisterOp op =
    OpDef("dequantize_linear")
        .doc("Returns (input - zero_point) * scale in the dtype of scale. ONNX DequantizeLinear.")
        .example(
            ">>> hw.dequantize_linear(hw.tensor([-2, 0, 6], dtype=hw.int8), hw.tensor(0.5))\n"
            "tensor([-1.,  0.,  3.])")
        .in("input", "any shape", quantized_types)
        .in("scale", "the step, positive: one for all, or [size of axis] if axis is given", floating)
        .in_optional("zero_point", "the integer that stands for 0, shaped as scale; None: 0", integral)
        .attr_none("axis", AttrValue::Kind::Int, "the axis with one scale per index; None: one scale for all")
        .keyword()
        .out("y")
        .infer(infer)
        .sbp(steps_sbp)
        .flops([](const InferCtx& c) { return 2.0 * static_cast<double>(c.in[0].numel()); })
        .grad("input zero_point", scale_gradient)
        .onnx("DequantizeLinear");

}  // namespace hw
