// masked_fill: one value where a mask is True.
#include "base/error.h"
#include "op/math.h"
#include "op/number_rule.h"
#include "op/rules.h"

namespace hw {

/// What the dtype of the input cannot hold is refused, as torch does.
static void check_value(const Tensor& value, DType into) {
  // Known without a look at the value; numbers are always at hand.
  const bool known = value.dtype() == into || value.dtype() == DType::Bool || is_complex(into) ||
                     (is_floating(into) && !is_complex(value.dtype()));
  if (value->wrapped || !known) check_stored("value", value.item(), into);
}

static const RegisterOp op =
    OpDef("masked_fill")
        .doc(
            "Returns input with value where mask is True. mask must be bool and broadcast with input. A value that the "
            "dtype of input cannot hold raises RuntimeError; fractions are cut off.")
        .in("input", "any shape")
        .in("mask", "a shape that broadcasts with input", boolean)
        .in("value", "a number or a 0-d tensor")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          const Tensor& value = in[2];
          check_runtime(value.ndim() == 0, "value must be a number or a 0-d tensor, got ", value);
          check_value(value, in[0].dtype());
          return {where(in[1], to(value, in[0].dtype()), in[0])};
        });

}  // namespace hw
