// ldexp: numbers times powers of two.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("ldexp")
        .doc("Returns input * 2^other for each element; integers give floating-point numbers.")
        .example(">>> hw.ldexp(hw.tensor([1.0, 3.0]), hw.tensor([2, -1]))\ntensor([4.0000, 1.5000])")
        .in("input", "any shape")
        .in("other", "the exponents; any shape that broadcasts with input")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          return {in[0] * pow(number(Scalar(2.0)), in[1])};
        });

}  // namespace hw
