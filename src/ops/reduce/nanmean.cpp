// nanmean: the mean of the elements that are not NaN.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("nanmean")
        .doc("Returns the mean over the axes `dim` (all axes by default) of the elements that are not NaN.")
        .example(">>> hw.nanmean(hw.tensor([1.0, float('nan'), 2.0]))\ntensor(1.5000)")
        .in("input", "any shape", floating)
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op isnan{"isnan"}, sum{"sum"};
          Tensor nan = isnan({in[0]});
          Tensor total = sum({where(nan, number(Scalar(0)), in[0])}, {attrs[0], attrs[1], attrs[2]});
          Tensor count = sum({logical_not(nan)}, {attrs[0], attrs[1]});
          return {total / count};
        });

}  // namespace hw
