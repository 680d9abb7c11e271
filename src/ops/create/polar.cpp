// polar: complex numbers from absolute value and angle.
#include "op/math.h"

namespace hw {

static const RegisterOp op = OpDef("polar")
                                 .doc("Returns complex numbers with the given absolute values and angles.")
                                 .in("abs", "broadcasts with angle", floating)
                                 .in("angle", "radians", floating)
                                 .method(false)
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   static const Op complex{"complex"};
                                   return {complex({in[0] * cos(in[1]), in[0] * sin(in[1])})};
                                 });

}  // namespace hw
