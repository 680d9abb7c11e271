// scalar_tensor: a number as a tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("scalar_tensor")
        .doc("Returns a 0-d tensor with the value s.")
        .attr_required("s", AttrValue::Kind::Scalar, "the value")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op full{"full"};
          return {full({}, {Dims{}, attrs[0].scalar(), attrs[1].none() ? default_dtype() : attrs[1].dtype()})};
        });

}  // namespace hw
