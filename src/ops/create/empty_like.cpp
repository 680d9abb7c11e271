// empty_like: memory as it is, in the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("empty_like")
        .doc("Returns a tensor of the shape of the input whose elements are not set.")
        .in("input", "any shape")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op empty{"empty"};
          return {empty({}, {in[0].shape(), attrs[0].none() ? in[0].dtype() : attrs[0].dtype()})};
        });

}  // namespace hw
