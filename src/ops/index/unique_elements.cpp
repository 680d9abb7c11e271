// _unique: the different elements of a vector, in a buffer that has room for all.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims vector_of(const InferCtx& c) {
  check_runtime(c.in[0].ndim() == 1, "the input must have one axis, got ", c.in[0]);
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("_unique")
        .doc(
            "Returns the different elements in ascending order, the position of each element in them, how often each "
            "occurs, and how many there are. What lies behind them is not set.")
        .in("input", "1-d", real_types)
        .out("values", dtype::same, vector_of)
        .out("inverse", dtype::int64, shape::same)
        .out("counts", dtype::int64, shape::same)
        .out("count", dtype::int64, shape::scalar)
        .internal()
        .flops(cost::sorting_all)
        .sbp(sbp::broadcast_only)
        .no_grad("the outputs are found by comparison")
        .no_onnx("Unique has outputs of unknown size");

}  // namespace hw
