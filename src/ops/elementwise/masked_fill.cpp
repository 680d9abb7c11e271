// masked_fill: one value where a mask is True.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("masked_fill")
        .doc("Returns input with value where mask is True. mask must be bool and broadcast with input.")
        .in("input", "any shape")
        .in("mask", "a shape that broadcasts with input", boolean)
        .in("value", "a number or a 0-d tensor")
        .out("y")
        .inplace()
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          const Tensor& value = in[2];
          check_runtime(value.ndim() == 0, "value must be a number or a 0-d tensor, got ", value);
          check_runtime(can_cast(value->wrapped ? result_type({{value.spec()}}) : value.dtype(), in[0].dtype()),
                        "value ", value, " cannot be stored in ", in[0].dtype(), " without loss of kind");
          return {where(in[1], to(value, in[0].dtype()), in[0])};
        });

}  // namespace hw
