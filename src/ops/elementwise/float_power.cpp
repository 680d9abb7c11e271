// float_power: powers in double precision.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("float_power")
        .doc("Returns input to the power of exponent, computed in float64 (complex128 for complex inputs).")
        .in("input", "any shape")
        .in("exponent", "a number, or a tensor that broadcasts with input")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          const bool complex = is_complex(in[0].dtype()) || is_complex(in[1].dtype());
          DType wide = complex ? DType::C128 : DType::F64;
          return {pow(to(in[0], wide), to(in[1], wide))};
        });

}  // namespace hw
