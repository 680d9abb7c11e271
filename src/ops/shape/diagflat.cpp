// diagflat: all elements on the diagonal of a matrix.
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("diagflat")
        .doc("Returns a matrix with the elements of the input, flattened, on the diagonal `offset`.")
        .in("input", "any shape")
        .attr("offset", int64_t{0}, "above (positive) or below the main diagonal")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op embed{"diag_embed"};
          return {embed({reshape(in[0], {in[0].numel()})}, {attrs[0].i64()})};
        });

}  // namespace hw
