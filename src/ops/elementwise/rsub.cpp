// rsub: the reverse difference.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("rsub")
                                 .doc("Returns other - alpha * input.")
                                 .in("input", "any shape")
                                 .in("other", "any shape that broadcasts with input")
                                 .attr("alpha", Scalar(1), "factor of input")
                                 .keyword()
                                 .numbers(NumberRule::Wraps)
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op sub{"sub"};
                                   return {sub({in[1], in[0]}, {attrs[0]})};
                                 });

}  // namespace hw
