// diag: the diagonal of a matrix, or the matrix of a diagonal.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("diag")
        .doc("Returns a matrix with the vector on its diagonal, or a copy of the diagonal of a matrix.")
        .in("input", "one or two axes")
        .attr("diagonal", int64_t{0}, "above (positive) or below the main diagonal")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op embed{"diag_embed"}, diagonal{"diagonal"};
          check_runtime(in[0].ndim() == 1 || in[0].ndim() == 2, "one or two axes are needed, got ", in[0]);
          if (in[0].ndim() == 1) return {embed({in[0]}, {attrs[0].i64()})};
          return {clone(diagonal({in[0]}, {attrs[0].i64()}))};
        });

}  // namespace hw
