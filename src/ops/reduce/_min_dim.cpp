// _min_dim: the smallest element along one axis, and its index.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"
#include "ops/reduce/along_axis.h"

namespace hw {

static const RegisterOp op = OpDef("_min_dim")
                                 .doc(
                                     "The smallest element along one axis and its index: what min(input, dim) runs. "
                                     "The first of equal elements; NaN wins.")
                                 .in("input", "any shape with elements along the axis", real_types)
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .attr("keepdim", false, "whether the axis stays with size 1")
                                 .out("values", dtype::same, nonempty_reduced)
                                 .out("indices", dtype::int64, shape::reduced)
                                 .internal()
                                 .flops(cost::per_input<1>)
                                 .sbp(sbp::reduce_plain)
                                 .grad("indices", scatter_to_index)
                                 .onnx("TopK");

}  // namespace hw
