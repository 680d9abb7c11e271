// _median_dim: the lower median along one axis, and its index.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"
#include "ops/reduce/along_axis.h"

namespace hw {

static const RegisterOp op = OpDef("_median_dim")
                                 .doc(
                                     "The lower median along one axis and the index of an element that has it: what "
                                     "median(input, dim) runs. NaN wins.")
                                 .in("input", "any shape with elements along the axis", real_types)
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .attr("keepdim", false, "whether the axis stays with size 1")
                                 .out("values", dtype::same, nonempty_reduced)
                                 .out("indices", dtype::int64, shape::reduced)
                                 .internal()
                                 .flops(cost::sorting)
                                 .sbp(sbp::reduce_plain)
                                 .grad("indices", scatter_to_index)
                                 .onnx("TopK");

}  // namespace hw
