// ones_like: 1 everywhere, in the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("ones_like")
        .doc("Returns a tensor of the shape of the input filled with 1.")
        .in("input", "any shape")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op full{"full"};
          return {full({}, {in[0].shape(), Scalar(1), attrs[0].none() ? in[0].dtype() : attrs[0].dtype()})};
        });

}  // namespace hw
