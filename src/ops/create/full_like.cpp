// full_like: one value everywhere, in the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("full_like")
        .doc("Returns a tensor of the shape of the input with every element equal to fill_value.")
        .in("input", "any shape")
        .attr_required("fill_value", AttrValue::Kind::Scalar, "the value")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op full{"full"};
          return {full({}, {in[0].shape(), attrs[0].scalar(), attrs[1].none() ? in[0].dtype() : attrs[1].dtype()})};
        });

}  // namespace hw
