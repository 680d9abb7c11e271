// _nonzero: nonzero when the number of rows is known.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const int64_t count = c.attr("count").i64();
  check_runtime(count >= 0 && count <= c.in[0].numel(), "count must be in [0, ", c.in[0].numel(), "], got ", count);
  return {count, c.in[0].ndim()};
}

static const RegisterOp op =
    OpDef("_nonzero")
        .doc("Returns the indices of the first `count` elements that are not zero, [count, axes of the input].")
        .in("input", "any shape")
        .attr_required("count", AttrValue::Kind::Int, "what _nonzero_count returned")
        .out("y", dtype::int64, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp(sbp::broadcast_only)
        .no_grad("the output is an integer")
        .onnx("NonZero");

}  // namespace hw
