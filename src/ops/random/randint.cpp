// randint: random integers.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("randint")
        .doc("Returns random integers from low to high - 1. Called with one bound, that is the end.")
        .attr("low", int64_t{0}, "the smallest value")
        .attr_required("high", AttrValue::Kind::Int, "one more than the largest value")
        .attr_required("size", AttrValue::Kind::Ints, "the shape")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: int64")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op draw{"_randint"};
          return {draw(
              {}, {attrs[0].i64(), attrs[1].i64(), attrs[2].ints(), attrs[3].none() ? DType::I64 : attrs[3].dtype()})};
        });

}  // namespace hw
