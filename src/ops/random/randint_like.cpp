// randint_like: random integers from low to high - 1 in the shape of another tensor.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("randint_like")
        .doc("Returns random integers from low to high - 1, in the shape of the input.")
        .in("input", "any shape")
        .attr_required("low", AttrValue::Kind::Int, "the smallest value, or the end if high is not given")
        .attr_none("high", AttrValue::Kind::Int, "one more than the largest value")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: that of input")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op draw{"_randint"};
          const int64_t low = attrs[1].none() ? 0 : attrs[0].i64(),
                        high = attrs[1].none() ? attrs[0].i64() : attrs[1].i64();
          return {draw({}, {low, high, in[0].shape(), attrs[2].none() ? in[0].dtype() : attrs[2].dtype()})};
        });

}  // namespace hw
