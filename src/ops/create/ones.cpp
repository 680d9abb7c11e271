// ones: 1 everywhere.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("ones")
        .doc("Returns a tensor of the given size filled with 1.")
        .example(">>> hw.ones(2, dtype=hw.int64)\ntensor([1, 1])")
        .attr_required("size", AttrValue::Kind::Ints, "the shape")
        .varargs()
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op full{"full"};
          return {full({}, {attrs[0].ints(), Scalar(1), attrs[1].none() ? default_dtype() : attrs[1].dtype()})};
        });

}  // namespace hw
