// eye: the identity matrix.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("eye")
        .doc("Returns an n x m matrix with 1 on the diagonal and 0 elsewhere.")
        .example(">>> hw.eye(2, dtype=hw.int64)\ntensor([[1, 0],\n        [0, 1]])")
        .attr_required("n", AttrValue::Kind::Int, "rows")
        .attr_none("m", AttrValue::Kind::Int, "columns; default: n")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
        .keyword()
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op fill{"_diagonal_grad"};
          const int64_t n = attrs[0].i64(), m = attrs[1].none() ? n : attrs[1].i64();
          check_runtime(n >= 0 && m >= 0, "sizes cannot be negative, got ", n, " and ", m);
          const DType dtype = attrs[2].none() ? default_dtype() : attrs[2].dtype();
          return {fill({ones({std::min(n, m)}, dtype)}, {Dims{n, m}, int64_t{0}, int64_t{0}, int64_t{1}})};
        });

}  // namespace hw
