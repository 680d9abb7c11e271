// clamp: values between two bounds.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/elementwise/clamp_bound.h"

namespace hw {

static const RegisterOp op =
    OpDef("clamp")
        .doc(
            "Returns min where input is below it, max where it is above, else input; NaN stays. If min is above max, "
            "the result is max. Bounds are numbers or tensors; one of them may be None.")
        .example(">>> hw.clamp(hw.tensor([-2.0, 0.5, 3.0]), -1, 1)\ntensor([-1.0000,  0.5000,  1.0000])")
        .in("input", "any shape", real_types & ~boolean)
        .in_optional("min", "the lower bound, a number or a tensor", real_types)
        .in_optional("max", "the upper bound, a number or a tensor", real_types)
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op clamp_min{"clamp_min"}, clamp_max{"clamp_max"}, clamp_both{"clamp_tensor"};
          check(in[1].defined() || in[2].defined(), "at least one of min and max must be given");
          if (!in[2].defined()) return {clamp_min({in[0], in[1]})};
          if (!in[1].defined()) return {clamp_max({in[0], in[2]})};
          return {clamp_both({in[0], bound_in_range(in[0], in[1], true), bound_in_range(in[0], in[2], false)})};
        });

}  // namespace hw
