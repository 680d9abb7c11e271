// triu_indices: where the elements on and above a diagonal lie.
#include <algorithm>

#include "base/error.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const int64_t rows = c.attr("row").i64(), columns = c.attr("col").i64(), offset = c.attr("offset").i64();
  check_runtime(rows >= 0 && columns >= 0, "row and col cannot be negative, got ", rows, " and ", columns);
  const DType d = c.attr("dtype").none() ? DType::I64 : c.attr("dtype").dtype();
  check_runtime(d == DType::I32 || d == DType::I64, "dtype must be int32 or int64, got ", d);
  // The columns up to the diagonal grow by one from row to row, between 0 and all.
  const double r = static_cast<double>(rows), c0 = static_cast<double>(columns), o = static_cast<double>(offset) - 1;
  const double first = std::clamp(-o, 0.0, r),
               full = std::clamp(c0 - o - 1, first, r);  // the first row with one, with all
  const double below = (full - first) * (first + full + 1 + 2 * o) / 2 + (r - full) * c0;
  check(r * c0 < 9e15, "a matrix of ", rows, " rows and ", columns, " columns has too many elements");
  const int64_t count = static_cast<int64_t>(r * c0 - below);
  return {2, count};
}

static const RegisterOp op =
    OpDef("triu_indices")
        .doc(
            "Returns the row numbers and column numbers, [2, count], of the elements on and above the diagonal "
            "`offset` of a row x col matrix.")
        .attr_required("row", AttrValue::Kind::Int, "rows")
        .attr_required("col", AttrValue::Kind::Int, "columns")
        .attr("offset", int64_t{0}, "above (positive) or below the main diagonal")
        .attr_none("dtype", AttrValue::Kind::DType, "int32 or int64; default: int64")
        .keyword()
        .out(
            "y", [](const InferCtx& c) { return c.attr("dtype").none() ? DType::I64 : c.attr("dtype").dtype(); },
            shape_of)
        .sbp(sbp::broadcast_only)
        .no_grad("it has no tensor input")
        .no_onnx("a constant");

}  // namespace hw
