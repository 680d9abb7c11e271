// hsplit: pieces along axis 1, or the only one.
#include "ops/shape/equal_split.h"

namespace hw {

static const RegisterOp op = OpDef("hsplit")
                                 .doc(
                                     "Returns views of `sections` equal pieces, or of the pieces between `indices`, "
                                     "along axis 1, or the only one.")
                                 .in("input", "at least 1 axis")
                                 .attr_none("sections", AttrValue::Kind::Int, "how many pieces; divides the size")
                                 .attr_none("indices", AttrValue::Kind::Ints, "where pieces begin")
                                 .out("tensors...")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return equal_split(in[0], attrs, 1, in[0].ndim() == 1 ? 0 : 1);
                                 });

}  // namespace hw
