// fake_quantize_per_channel_affine: torch's name of fake_quantize with one scale per index of an axis.
#include "op/math.h"
#include "op/rules.h"
#include "ops/quantization/steps.h"

namespace hw {

static const RegisterOp op =
    OpDef("fake_quantize_per_channel_affine")
        .doc("Returns fake_quantize(input, scale, zero_point, axis=axis, quant_min=quant_min, quant_max=quant_max).")
        .in("input", "any shape", floating)
        .in("scale", "[size of axis]", floating)
        .in("zero_point", "[size of axis]: the integers that stand for 0", integral)
        .attr_required("axis", AttrValue::Kind::Int, "the axis with one scale per index")
        .attr_required("quant_min", AttrValue::Kind::Int, "the least integer")
        .attr_required("quant_max", AttrValue::Kind::Int, "the greatest integer")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op fake_quantize{"fake_quantize"};
          return {fake_quantize({in[0], in[1], in[2]}, {attrs[0], attrs[1], attrs[2]})};
        });

}  // namespace hw
