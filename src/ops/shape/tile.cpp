// tile: repeat, with missing repeats in front taken as 1.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("tile")
        .doc("Returns the input repeated along each axis; `dims` may name fewer axes than there are.")
        .in("input", "any shape")
        .attr_required("dims", AttrValue::Kind::Ints, "how often, for the last axes")
        .varargs()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op repeat{"repeat"};
          Dims dims = attrs[0].ints();
          while (static_cast<int64_t>(dims.size()) < in[0].ndim()) dims.insert(0, 1);
          return {repeat({in[0]}, {dims})};
        });

}  // namespace hw
