// randn_like: random numbers of the standard normal distribution in the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("randn_like")
        .doc("Returns random numbers of the standard normal distribution, in the shape of the input.")
        .in("input", "any shape")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op draw{"randn"};
          return {draw({}, {in[0].shape(), attrs[0].none() ? in[0].dtype() : attrs[0].dtype()})};
        });

}  // namespace hw
