// one_hot: class numbers as vectors.
#include "base/error.h"
#include "core/read_guard.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("one_hot")
        .doc(
            "Returns int64 vectors, along a new last axis, that are 1 at the position the input names and 0 elsewhere.")
        .example(">>> hw.one_hot(hw.tensor([0, 2]))\ntensor([[1, 0, 0],\n        [0, 0, 1]])")
        .in("input", "class numbers", dtype_bit(DType::I64))
        .attr("num_classes", int64_t{-1}, "the length of the vectors; -1: the largest class number + 1")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op scatter{"scatter"}, largest{"amax"}, smallest{"amin"};
          int64_t classes = attrs[0].i64();
          const Tensor x = in[0].alias();
          check_runtime(classes >= -1 && classes != 0, "num_classes must be positive or -1, got ", classes);
          if (classes < 0) {
            check_runtime(x.numel() > 0, "num_classes must be given for an input without elements");
            check_runtime(smallest({x}).item().i64() >= 0, "class numbers cannot be negative");
            classes = largest({x}).item().i64() + 1;
          } else if (x.numel() > 0 && is_readable(x)) {  // in a compiled function scatter looks at them
            const int64_t low = smallest({x}).item().i64(), high = largest({x}).item().i64();
            check_runtime(low >= 0 && high < classes, "class numbers must be in [0, ", classes - 1, "], got ",
                          low < 0 ? low : high);
          }
          Dims shape = x.shape();
          shape.push_back(classes);
          if (x.numel() == 0) return {zeros(shape, DType::I64)};
          return {scatter({zeros(shape, DType::I64), unsqueeze(x, -1), Tensor::scalar(Scalar(1), DType::I64)},
                          {int64_t{-1}})};
        });

}  // namespace hw
