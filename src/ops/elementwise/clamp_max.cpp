// clamp_max: values not above a bound.
#include "op/math.h"
#include "op/rules.h"
#include "ops/elementwise/clamp_bound.h"

namespace hw {

static const RegisterOp op = OpDef("clamp_max")
                                 .doc("Returns max where input is above it, else input; NaN stays.")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .in("max", "a number, or a tensor that broadcasts with input", real_types)
                                 .out("y")
                                 .inplace()
                                 .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
                                   static const Op kernel{"_clamp_max"};
                                   return {kernel({in[0], bound_in_range(in[0], in[1], false)})};
                                 });

}  // namespace hw
