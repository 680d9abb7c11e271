// diag_embed: vectors on the diagonals of matrices.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("diag_embed")
        .doc(
            "Returns matrices, in the plane of dim1 and dim2, that are zero except on the "
            "diagonal `offset`, which is the last axis of the input.")
        .example(">>> hw.diag_embed(hw.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])")
        .in("input", "at least one axis")
        .attr("offset", int64_t{0}, "above (positive) or below the main diagonal")
        .attr("dim1", int64_t{-2}, "axis of the rows")
        .attr("dim2", int64_t{-1}, "axis of the columns")
        .out("y")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op fill{"_diagonal_grad"};
          check_runtime(in[0].ndim() >= 1, "at least one axis is needed, got ", in[0]);
          const int64_t n = in[0].ndim() + 1, offset = attrs[0].i64();
          const int64_t a = normalize_axis(attrs[1].i64(), n), b = normalize_axis(attrs[2].i64(), n);
          check_runtime(a != b, "dim1 and dim2 must differ, both are ", a);
          check_runtime(offset > -(int64_t{1} << 40) && offset < int64_t{1} << 40, "offset ", offset, " is too large");
          const int64_t size = in[0].shape().back() + std::abs(offset);
          Dims shape;
          size_t next = 0;
          for (int64_t i = 0; i < n; ++i) shape.push_back(i == a || i == b ? size : in[0].shape()[next++]);
          return {fill({in[0]}, {shape, offset, a, b})};
        });

}  // namespace hw
