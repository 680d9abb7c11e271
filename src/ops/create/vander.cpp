// vander: the Vandermonde matrix.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("vander")
        .doc(
            "Returns the matrix [n, N] of the powers of n numbers: from N - 1 down to 0, or with `increasing` from 0 "
            "up. "
            "Bool is taken as int64.")
        .example(">>> hw.vander(hw.tensor([1, 2, 3]))\ntensor([[1, 1, 1],\n        [4, 2, 1],\n        [9, 3, 1]])")
        .in("x", "[n]")
        .attr_none("N", AttrValue::Kind::Int, "columns; None: n")
        .attr("increasing", false, "whether the powers grow from column to column")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op cumprod{"cumprod"};
          check_runtime(in[0].ndim() == 1, "x must be 1-d, got ", in[0]);
          const int64_t n = in[0].size(0), columns = attrs[0].none() ? n : attrs[0].i64();
          check_runtime(columns >= 0, "N cannot be negative, got ", columns);
          const bool small = in[0].dtype() == DType::Bool || dtype_bit(in[0].dtype()) & integral;
          const Tensor x = small ? to(in[0], DType::I64) : in[0];
          if (columns == 0) return {zeros({n, 0}, x.dtype())};
          Tensors list{ones({n, 1}, x.dtype())};
          if (columns > 1) list.push_back(cumprod({expand(unsqueeze(x, 1), {n, columns - 1})}, {int64_t{1}}));
          const Tensor y = cat(list, 1);
          return {attrs[1].truth() ? y : flip(y, {1})};
        });

}  // namespace hw
