// triu_indices: where the elements on and above a diagonal lie.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"
#include "ops/create/triangle_count.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const int64_t rows = c.attr("row").i64(), columns = c.attr("col").i64(), offset = c.attr("offset").i64();
  const DType d = c.attr("dtype").none() ? DType::I64 : c.attr("dtype").dtype();
  check_runtime(d == DType::I32 || d == DType::I64, "dtype must be int32 or int64, got ", d);
  const int64_t below = lower_triangle_count(rows, columns, std::max(offset, -rows - 1) - 1);
  return {2, rows * columns - below};
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
        .flops(cost::bandwidth_bound)
        .sbp(sbp::broadcast_only)
        .no_grad("it has no tensor input")
        .no_onnx("a constant");

}  // namespace hw
