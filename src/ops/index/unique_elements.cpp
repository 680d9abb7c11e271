// _unique: the different elements of a vector, in a buffer that has room for all.
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("_unique")
        .doc(
            "Returns the different elements in ascending order, the position of each element in them, how often each "
            "occurs, and how many there are. What lies behind them is not set.")
        .in("input", "1-d", real_types)
        .out("values", dtype::same, shape::same)
        .out("inverse", dtype::int64, shape::same)
        .out("counts", dtype::int64, shape::same)
        .out("count", dtype::int64, shape::scalar)
        .internal()
        .sbp(sbp::broadcast_only)
        .no_grad("the outputs are found by comparison")
        .no_onnx("Unique has outputs of unknown size");

}  // namespace hw
