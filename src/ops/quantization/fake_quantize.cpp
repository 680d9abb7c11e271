// fake_quantize: what is left of floating values after quantisation, with the gradients that training needs.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/quantization/steps.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  steps_axis(c);
  check_range(c.attr("quant_min").i64(), c.attr("quant_max").i64());
  return {like_input(c.in[0], c.in[0].dtype)};
}

/// dx: dy where the integer lies in range, else 0. dscale (Esser et al. 2020, eq. 3): round(v) - v in range, else the bound less
/// the zero point, with v = x / scale; times dy and summed over the elements of that scale.
static void straight_through(GradCtx& g) {
  static const Op round{"round"};
  const Tensor dy = g.dy(), &x = g.in(0);
  const AttrValue& axis = g.attr("axis");
  const DType wide = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  const Tensor steps = to(x, wide) / along_axis(to(g.in(1), wide), axis, x.ndim()), rounded = round({steps});
  Tensor low = number(g.attr("quant_min").scalar()), high = number(g.attr("quant_max").scalar());
  if (g.in(2).defined()) {
    const Tensor zero = along_axis(to(g.in(2), wide), axis, x.ndim());
    low = low - zero, high = high - zero;
  }
  const Tensor below = lt(rounded, low), above = gt(rounded, high);
  if (g.needs(0)) g.dx(0, where(logical_and(logical_not(below), logical_not(above)), dy, number(0)));
  if (!g.needs(1)) return;
  const Tensor slope = to(dy, wide) * where(below, to(low, wide), where(above, to(high, wide), rounded - steps));
  if (axis.none()) return g.dx(1, reshape(sum(slope), g.in_spec(1).shape));
  Dims rest;
  const int64_t own = normalize_axis(axis.i64(), x.ndim());
  for (int64_t a = 0; a < x.ndim(); ++a)
    if (a != own) rest.push_back(a);
  g.dx(1, rest.empty() ? slope : sum(slope, rest));
}

static const RegisterOp op =
    OpDef("fake_quantize")
        .doc(
            "Returns (clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale, halves to "
            "even; NaN stays. The gradient of the input passes straight through where the integer is in range and is 0 "
            "elsewhere; that of scale is LSQ's (Esser et al. 2020) without its factor.")
        .example(
            ">>> hw.fake_quantize(hw.tensor([-1.1, 0.3, 9.0]), hw.tensor(0.5), quant_min=-8, quant_max=7)\n"
            "tensor([-1.0000,  0.5000,  3.5000])")
        .in("input", "any shape", floating)
        .in("scale", "the step, positive: one for all, or [size of axis] if axis is given", floating)
        .in_optional("zero_point", "the integer that stands for 0, shaped as scale; None: 0", integral)
        .attr_none("axis", AttrValue::Kind::Int, "the axis with one scale per index; None: one scale for all")
        .keyword()
        .attr_required("quant_min", AttrValue::Kind::Int, "the least integer: -128 for int8")
        .attr_required("quant_max", AttrValue::Kind::Int, "the greatest integer: 127 for int8")
        .out("y")
        .infer(infer)
        .sbp(steps_sbp)
        .flops([](const InferCtx& c) { return 6.0 * static_cast<double>(c.in[0].numel()); })
        .grad("input scale zero_point", straight_through)
        .onnx("DequantizeLinear(QuantizeLinear(x, scale, zero_point), scale, zero_point)");

}  // namespace hw
