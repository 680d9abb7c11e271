// unique_consecutive: runs of equal elements.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static const RegisterOp op =
    OpDef("unique_consecutive")
        .doc(
            "Returns the input with one element for each run of equal ones; on request also, for each element, which "
            "run it is in, and how long the runs are.")
        .example(">>> hw.unique_consecutive(hw.tensor([1, 1, 2, 1]))\ntensor([1, 2, 1])")
        .in("input", "any shape", real_types)
        .attr("return_inverse", false, "whether to return the run of each element")
        .attr("return_counts", false, "whether to return the length of each run")
        .attr_none("dim", AttrValue::Kind::Int, "rows along this axis instead of elements")
        .out("output")
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op any{"any"}, cumsum{"cumsum"}, nonzero{"nonzero"}, select{"index_select"};
          const Tensor x = in[0].alias();
          const bool along = !attrs[2].none();
          check_runtime(!along || x.ndim() > 0, "a 0-d tensor has no rows");
          const int64_t axis = along ? normalize_axis(attrs[2].i64(), x.ndim()) : 0;
          const Tensor rows = along ? x : reshape(x, {x.numel()});
          const int64_t n = rows.size(axis);
          Tensor begins = full({n}, Scalar(true), DType::Bool);
          if (n > 1) {
            Tensor differs = ne(narrow(rows, axis, 1, n - 1), narrow(rows, axis, 0, n - 1));
            Dims others;
            for (int64_t a = 0; a < rows.ndim(); ++a)
              if (a != axis) others.push_back(a);
            if (!others.empty()) differs = any({differs}, {others});
            const Tensor parts[] = {full({1}, Scalar(true), DType::Bool), differs};
            begins = cat(parts, 0);
          }
          const Tensor where = reshape(nonzero({begins}), {-1});
          Tensors out{select({rows, where}, {axis})};
          if (attrs[0].truth()) {
            Tensor inverse = cumsum({begins}, {int64_t{0}}) - Scalar(1);
            out.push_back(along ? inverse : reshape(inverse, x.shape()));
          }
          if (attrs[1].truth()) {
            const Tensor ends[] = {where, full({n ? 1 : 0}, Scalar(n), DType::I64)};
            const Tensor all = cat(ends, 0);
            const int64_t runs = where.numel();
            out.push_back(runs ? narrow(all, 0, 1, runs) - narrow(all, 0, 0, runs) : zeros({0}, DType::I64));
          }
          return out;
        });

}  // namespace hw
