// fake_quantize_per_tensor_affine: torch's name of fake_quantize with one scale.
#include "op/math.h"
#include "op/rules.h"
#include "ops/quantization/steps.h"

namespace hw {

static const RegisterOp op =
    OpDef("fake_quantize_per_tensor_affine")
        .doc("Returns fake_quantize(input, scale, zero_point, quant_min=quant_min, quant_max=quant_max).")
        .in("input", "any shape", floating)
        .in("scale", "the step, a number or a tensor of one element", floating)
        .in("zero_point", "the integer that stands for 0, a number or a tensor of one element", integral)
        .attr_required("quant_min", AttrValue::Kind::Int, "the least integer")
        .attr_required("quant_max", AttrValue::Kind::Int, "the greatest integer")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op fake_quantize{"fake_quantize"};
          return {fake_quantize({in[0], in[1], in[2]}, {AttrValue(), attrs[0], attrs[1]})};
        });

}  // namespace hw
