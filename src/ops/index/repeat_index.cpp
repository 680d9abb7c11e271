// _repeat_index: each position as often as asked.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.in[0].ndim() == 1, "counts must have one axis, got ", c.in[0]);
  check_runtime(c.attr("total").i64() >= 0, "total cannot be negative, got ", c.attr("total").i64());
  return {c.attr("total").i64()};
}

static const RegisterOp op = OpDef("_repeat_index")
                                 .doc("Returns every position i counts[i] times, in order.")
                                 .in("counts", "1-d", dtype_bit(DType::I64))
                                 .attr_required("total", AttrValue::Kind::Int, "the sum of counts")
                                 .out("y", dtype::int64, shape_of)
                                 .internal()
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("the output is an integer")
                                 .no_onnx("its size depends on the data");

}  // namespace hw
