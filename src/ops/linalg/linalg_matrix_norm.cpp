// linalg_matrix_norm: norms of matrices that need no singular values.
#include <cmath>

#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("linalg_matrix_norm")
        .doc(
            "Returns norms of matrices: 'fro' (the root of the sum of squares), 1 and -1 (the largest and the smallest "
            "sum of magnitudes of a column), inf and -inf (of a row). Those that need singular values (2, -2, 'nuc') "
            "are not offered.")
        .example(">>> hw.linalg_matrix_norm(hw.tensor([[3.0, 4.0], [0.0, 0.0]]))\ntensor(5.)")
        .in("A", "at least two axes", inexact)
        .attr("ord", "fro", "the order: 'fro', '1', '-1', 'inf' or '-inf'; in headwater.linalg also numbers")
        .attr("dim", Dims{-2, -1}, "the axes of the rows and of the columns")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
        .keyword()
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op norm{"linalg_vector_norm"}, least{"amin"}, most{"amax"};
          const std::string& ord = attrs[0].text();
          const Dims& dim = attrs[1].ints();
          const Tensor x = attrs[3].none() ? in[0] : to(in[0], attrs[3].dtype());
          check_runtime(x.ndim() >= 2 && dim.size() == 2, "A needs two axes, and dim must name two, got ", x, " and ",
                        dim);
          const int64_t rows = normalize_axis(dim[0], x.ndim()), columns = normalize_axis(dim[1], x.ndim());
          check_runtime(rows != columns, "dim must name two different axes, got ", dim);
          if (ord == "fro") return {norm({x}, {2.0, Dims{rows, columns}, attrs[2]})};
          if (ord == "2" || ord == "-2" || ord == "nuc")
            fail(ErrorKind::NotImplemented, "the norm of order ", ord, " needs singular values, which are not offered");
          const bool one = ord == "1" || ord == "-1", low = ord.starts_with("-");
          check(one || ord == "inf" || ord == "-inf", "ord must be 'fro', 1, -1, inf or -inf, got '", ord, "'");
          const Tensor sums = norm({x}, {1.0, Dims{one ? rows : columns}, true});
          const Tensor y = (low ? least : most)({sums}, {Dims{one ? columns : rows}, true});
          return {attrs[2].truth() ? y : squeeze(squeeze(y, std::max(rows, columns)), std::min(rows, columns))};
        });

}  // namespace hw
