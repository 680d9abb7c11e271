// bucketize: the bucket of each element.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("bucketize")
        .doc("Returns the index of the bucket between `boundaries` that each element of the input falls into.")
        .in("input", "any shape")
        .in("boundaries", "1-d, sorted")
        .attr("out_int32", false, "int32 instead of int64")
        .keyword()
        .attr("right", false, "whether a boundary belongs to the bucket on its left")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op search{"searchsorted"};
          check(in[1].ndim() == 1, "boundaries must be 1-d, got ", in[1]);
          return {search({in[1], in[0]}, {attrs[0].truth(), attrs[1].truth()})};
        });

}  // namespace hw
