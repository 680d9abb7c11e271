// swapdims: transpose under another name.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("swapdims")
                                 .doc("Returns a view with two axes swapped; the same as transpose.")
                                 .in("input", "any shape")
                                 .attr_required("dim0", AttrValue::Kind::Int, "an axis")
                                 .attr_required("dim1", AttrValue::Kind::Int, "an axis")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   return {transpose(in[0], attrs[0].i64(), attrs[1].i64())};
                                 });

}  // namespace hw
