// _unique_rows: the different rows of a matrix.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims rows_of(const InferCtx& c) {
  check_runtime(c.in[0].ndim() == 2, "the input must have two axes, got ", c.in[0]);
  return {c.in[0].shape[0]};
}

static const RegisterOp op =
    OpDef("_unique_rows")
        .doc(
            "Returns the number of a row of each kind in ascending order, the position of each row in them, how often "
            "each occurs, and how many there are. What lies behind them is not set.")
        .in("input", "2-d", real_types)
        .out("rows", dtype::int64, rows_of)
        .out("inverse", dtype::int64, rows_of)
        .out("counts", dtype::int64, rows_of)
        .out("count", dtype::int64, shape::scalar)
        .internal()
        .flops(cost::sorting_all)
        .sbp(sbp::broadcast_only)
        .no_grad("the outputs are found by comparison")
        .no_onnx("Unique has outputs of unknown size");

}  // namespace hw
