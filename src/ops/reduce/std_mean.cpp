// std_mean: the standard deviation and the mean.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("std_mean")
        .doc("Returns the standard deviation and the mean over the axes `dim` (all axes by default).")
        .example(">>> hw.std_mean(hw.tensor([1.0, 2.0, 3.0, 4.0]))[1]\ntensor(2.5000)")
        .in("input", "any shape", floating)
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("correction", 1.0,
              "degrees of freedom subtracted from the number of elements; torch's unbiased=False is 0")
        .keyword()
        .attr("keepdim", false, "whether the axes stay with size 1")
        .out("std")
        .out("mean")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op var_mean{"_var_mean"};
          return var_mean.all({in[0]}, {attrs[0], attrs[2], attrs[1], true});
        });

}  // namespace hw
