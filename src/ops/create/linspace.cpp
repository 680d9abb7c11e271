// linspace: numbers at even distances, both ends included.
#include "base/error.h"
#include "op/cost.h"
#include "op/number_rule.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("steps").i64() >= 0, "steps cannot be negative, got ", c.attr("steps").i64());
  const DType into = dtype::given_or_default(c);
  for (const char* end : {"start", "end"}) check_stored(end, Scalar(c.attr(end).f64()), into);
  return {c.attr("steps").i64()};
}

static const RegisterOp op = OpDef("linspace")
                                 .doc("Returns `steps` numbers that run evenly from start to end.")
                                 .attr_required("start", AttrValue::Kind::Float, "the first number")
                                 .attr_required("end", AttrValue::Kind::Float, "the last number")
                                 .attr_required("steps", AttrValue::Kind::Int, "how many")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: the default dtype")
                                 .keyword()
                                 .out("y", dtype::given_or_default, shape_of)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("it has no tensor input")
                                 .onnx("Range");

}  // namespace hw
