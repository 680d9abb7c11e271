// nanmedian: the lower median of all elements that are not NaN. nanmedian(input, dim) is told apart in Python.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("nanmedian")
        .doc(
            "Returns the median of all elements that are not NaN, the lower one of two; with `dim`, the medians along "
            "an axis and their indices.")
        .example(">>> hw.nanmedian(hw.tensor([4.0, float('nan'), 2.0, 3.0]))\ntensor(3.)")
        .in("input", "any shape", real_types)
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs&) -> Tensors {
          static const Op nanmedian_dim{"_nanmedian_dim"};
          if (in[0].numel() == 0 && is_floating(in[0].dtype()))
            return {full({}, Scalar(__builtin_nan("")), in[0].dtype())};
          return {nanmedian_dim.all({reshape(in[0], {-1})}, {0})[0]};
        });

}  // namespace hw
