// swapaxes: transpose under NumPy's name.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("swapaxes")
                                 .doc("Returns a view with two axes swapped; the same as transpose.")
                                 .in("input", "any shape")
                                 .attr_required("axis0", AttrValue::Kind::Int, "an axis")
                                 .attr_required("axis1", AttrValue::Kind::Int, "an axis")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {transpose(in[0], attrs[0].i64(), attrs[1].i64())};
                                 });

}  // namespace hw
