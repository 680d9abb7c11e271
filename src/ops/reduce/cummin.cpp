// cummin: the smallest element so far, and its index.
#include "op/cost.h"
#include "op/rules.h"
#include "ops/reduce/along_axis.h"

namespace hw {

static const RegisterOp op =
    OpDef("cummin")
        .doc("Returns the smallest element so far along the axis `dim` and its index, the last of equal elements.")
        .example(">>> hw.cummin(hw.tensor([2, 1, 3]), dim=0).values\ntensor([2, 1, 1])")
        .in("input", "any shape", real_types)
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .out("values", dtype::same, shape::same)
        .out("indices", dtype::int64, shape::same)
        .flops(cost::scanning)
        .sbp(sbp::along_dim)
        .grad("indices", scatter_add_to_index)
        .onnx("Scan");

}  // namespace hw
