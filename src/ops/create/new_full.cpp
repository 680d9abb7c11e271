// new_full: one value everywhere, in the dtype of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("new_full")
        .doc("Returns a tensor of the given size with every element equal to fill_value, of the dtype of the input.")
        .in("input", "any shape")
        .attr_required("size", AttrValue::Kind::Ints, "the shape")
        .attr_required("fill_value", AttrValue::Kind::Scalar, "the value")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op full{"full"};
          return {full({}, {attrs[0].ints(), attrs[1].scalar(), attrs[2].none() ? in[0].dtype() : attrs[2].dtype()})};
        });

}  // namespace hw
