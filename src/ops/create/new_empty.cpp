// new_empty: memory as it is, in the dtype of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("new_empty")
        .doc("Returns a tensor of the given size whose elements are not set, of the dtype of the input.")
        .in("input", "any shape")
        .attr_required("size", AttrValue::Kind::Ints, "the shape")
        .varargs()
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op empty{"empty"};
          return {empty({}, {attrs[0].ints(), attrs[1].none() ? in[0].dtype() : attrs[1].dtype()})};
        });

}  // namespace hw
