// quantize_linear: floating values as integers of a given step.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"
#include "ops/quantization/steps.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  steps_axis(c);
  const AttrValue &dtype = c.attr("dtype"), &low = c.attr("quant_min"), &high = c.attr("quant_max");
  const TensorSpec& zero = c.in[2];
  const DType out = !dtype.none() ? dtype.dtype() : zero.given() && !zero.wrapped ? zero.dtype : DType::U8;
  const IntegerRange range = integer_range(out);
  const int64_t least = low.none() ? range.low : low.i64(), most = high.none() ? range.high : high.i64();
  check_range(least, most);
  check(least >= range.low && most <= range.high, "quant_min=", least, ", quant_max=", most, " do not fit into ", out,
        ", which holds ", range.low, " to ", range.high);
  return {like_input(c.in[0], out)};
}

static const RegisterOp op =
    OpDef("quantize_linear")
        .doc(
            "Returns round(input / scale) + zero_point as integers, halves to even, saturated to [quant_min, "
            "quant_max]; NaN gives zero_point. ONNX QuantizeLinear.")
        .example(
            ">>> hw.quantize_linear(hw.tensor([-1.0, 0.25, 3.0]), hw.tensor(0.5), dtype=hw.int8)\n"
            "tensor([-2,  0,  6], dtype=headwater.int8)")
        .in("input", "any shape", floating)
        .in("scale", "the step, positive: one for all, or [size of axis] if axis is given", floating)
        .in_optional("zero_point", "the integer that stands for 0, shaped as scale; None: 0", integral)
        .attr_none("axis", AttrValue::Kind::Int, "the axis with one scale per index; None: one scale for all")
        .keyword()
        .attr_none("dtype", AttrValue::Kind::DType,
                   "uint8, int8, int16 or int32; None: that of zero_point, uint8 without one")
        .attr_none("quant_min", AttrValue::Kind::Int, "the least integer; None: that of dtype")
        .attr_none("quant_max", AttrValue::Kind::Int, "the greatest integer; None: that of dtype")
        .out("y")
        .infer(infer)
        .flops(cost::per_input<4>)
        .sbp(steps_sbp)
        .no_grad("integer output; fake_quantize has the straight-through gradient")
        .onnx("QuantizeLinear");

}  // namespace hw
