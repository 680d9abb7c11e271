// isreal: which elements have no imaginary part.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("isreal")
                                 .doc("Returns for each element whether its imaginary part is 0; of real dtypes True.")
                                 .example(">>> hw.isreal(hw.tensor([1.0, 2.0 + 1.0j]))\ntensor([ True, False])")
                                 .in("input", "any shape")
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
                                   static const Op imag{"imag"};
                                   if (!(dtype_bit(in[0].dtype()) & complex_types))
                                     return {ones(in[0].shape(), DType::Bool)};
                                   return {eq(imag({in[0]}), number(Scalar(0)))};
                                 });

}  // namespace hw
