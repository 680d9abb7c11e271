// dist: the norm of a difference.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("dist")
                                 .doc("Returns the norm of order `p` of input - other, over all elements.")
                                 .example(">>> hw.dist(hw.tensor([3.0, 4.0]), hw.tensor([0.0, 0.0]))\ntensor(5.)")
                                 .in("input", "any shape; one of the two is floating or complex", numeric)
                                 .in("other", "a shape that broadcasts with input", numeric)
                                 .attr("p", 2.0, "the order")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op norm{"linalg_vector_norm"};
                                   return {norm({in[0] - in[1]}, {attrs[0]})};
                                 });

}  // namespace hw
