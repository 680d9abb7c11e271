// bincount: how often each number occurs.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("bincount")
        .doc("Returns how often each number from 0 to the largest occurs in the input, or the sums of their weights.")
        .example(">>> hw.bincount(hw.tensor([0, 2, 2]))\ntensor([1, 0, 2])")
        .in("input", "1-d, not negative", integral)
        .in_optional("weights", "as many as the input")
        .attr("minlength", int64_t{0}, "the least length of the result")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op scatter{"scatter_add"}, largest{"amax"}, smallest{"amin"};
          check_runtime(in[0].ndim() == 1, "the input must be 1-d, got ", in[0]);
          const int64_t least = attrs[0].i64();
          check_runtime(least >= 0, "minlength cannot be negative, got ", least);
          const bool weighted = in[1].defined();
          DType dtype = !weighted ? DType::I64 : in[1].dtype() == DType::F32 ? DType::F32 : DType::F64;
          int64_t size = least;
          const Tensor x = to(in[0].alias(), DType::I64);
          if (x.numel()) {
            check_runtime(smallest({x}).item().i64() >= 0, "the input has negative numbers");
            size = std::max(size, largest({x}).item().i64() + 1);
          }
          check_runtime(!weighted || in[1].shape() == x.shape(), "weights has shape ",
                        weighted ? in[1].shape() : Dims{}, ", the input ", x.shape());
          Tensor values = weighted ? to(in[1].alias(), dtype) : ones(x.shape(), dtype);
          return {scatter({zeros({size}, dtype), x, values}, {int64_t{0}})};
        });

}  // namespace hw
