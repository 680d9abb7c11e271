// broadcast_to: expand under NumPy's name.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("broadcast_to")
                                 .doc("Returns the input expanded to `size`, without copying.")
                                 .in("input", "any shape")
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape")
                                 .varargs()
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {expand(in[0], attrs[0].ints())};
                                 });

}  // namespace hw
