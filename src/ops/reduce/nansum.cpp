// nansum: the sum with NaN taken as zero.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("nansum")
        .doc("Returns the sum over the axes `dim` (all axes by default), with NaN taken as zero.")
        .example(">>> hw.nansum(hw.tensor([1.0, float('nan'), 2.0]))\ntensor(3.)")
        .in("input", "any shape", real_types)
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op isnan{"isnan"}, sum{"sum"};
          Tensor x = is_floating(in[0].dtype()) ? where(isnan({in[0]}), number(Scalar(0)), in[0]) : in[0];
          return {sum({x}, {attrs[0], attrs[1], attrs[2]})};
        });

}  // namespace hw
