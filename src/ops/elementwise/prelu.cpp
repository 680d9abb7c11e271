// prelu: relu with learned slopes.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("prelu")
        .doc("Returns x where x is positive, else weight * x; weight has one element, or one per channel (axis 1).")
        .in("input", "any shape", floating)
        .in("weight", "1-d or 0-d: one slope, or one per channel", floating)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          const Tensor& x = in[0];
          Tensor w = in[1];
          check_runtime(w.ndim() <= 1, "weight must have at most one axis, got ", w);
          if (w.numel() != 1) {
            check_runtime(x.ndim() > 0, "input is 0-d, but weight has ", w.numel(), " elements");
            int64_t channels = x.ndim() > 1 ? x.shape()[1] : 1;
            check_runtime(w.numel() == channels, "weight has ", w.numel(), " elements, input has ", channels,
                          " channels");
            Dims shape(static_cast<size_t>(x.ndim()), 1);
            shape[1] = channels;
            w = reshape(w, shape);
          } else if (w.ndim() > 0) {
            w = reshape(w, {});
          }
          return {where(gt(x, number(0)), x, w * x)};
        });

}  // namespace hw
