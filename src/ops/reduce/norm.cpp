// norm: the vector norm under torch's older name.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("norm")
                                 .doc("Returns the vector norm of order `p` over the axes `dim` (all axes by default).")
                                 .example(">>> hw.norm(hw.tensor([3.0, 4.0]))\ntensor(5.)")
                                 .in("input", "any shape", any_dtype)
                                 .attr("p", 2.0, "the order; inf and -inf are allowed")
                                 .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
                                 .attr("keepdim", false, "whether the axes stay with size 1")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op norm{"linalg_vector_norm"};
                                   return {norm({in[0]}, {attrs[0], attrs[1], attrs[2], attrs[3]})};
                                 });

}  // namespace hw
