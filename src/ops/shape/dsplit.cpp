// dsplit: pieces along axis 2.
#include "ops/shape/equal_split.h"

namespace hw {

static const RegisterOp op =
    OpDef("dsplit")
        .doc("Returns views of `sections` equal pieces, or of the pieces between `indices`, along axis 2.")
        .in("input", "at least 3 axes")
        .attr_none("sections", AttrValue::Kind::Int, "how many pieces; divides the size")
        .attr_none("indices", AttrValue::Kind::Ints, "where pieces begin")
        .out("tensors...")
        .composite(
            [](std::span<const Tensor> in, const Attrs& attrs) -> Tensors { return equal_split(in[0], attrs, 3, 2); });

}  // namespace hw
