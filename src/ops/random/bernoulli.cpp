// bernoulli: zeros and ones at random.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("bernoulli")
        .doc("Returns 1 with the probability that each element of the input gives, else 0.")
        .in("input", "probabilities", floating)
        .attr_none("p", AttrValue::Kind::Float, "one probability for all, instead of the input")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op draw{"_bernoulli"}, fill{"full"};
          Tensor p = attrs[0].none() ? in[0].alias() : fill({}, {Dims{}, Scalar(attrs[0].f64()), DType::F64});
          return {draw({p}, {in[0].shape(), in[0].dtype()})};
        });

}  // namespace hw
