// _randint: random integers.
#include "base/error.h"
#include "core/range.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static DType dtype_of(const InferCtx& c) {
  check_runtime(c.attr("low").i64() < c.attr("high").i64(), "low must be less than high, got ", c.attr("low").i64(),
                " and ", c.attr("high").i64());
  const DType d = c.attr("dtype").dtype();
  check_runtime(!is_complex(d), "random integers cannot be ", d);
  const int64_t low = c.attr("low").i64(), last = c.attr("high").i64() - 1;
  const bool holds = d == DType::Bool ? low >= 0 && last <= 1 : fits(Scalar(low), d) && fits(Scalar(last), d);
  check_runtime(holds && !(d == DType::U8 && low < 0), "integers from ", low, " to ", last, " do not fit ", d);
  return d;
}

static const RegisterOp op = OpDef("_randint")
                                 .doc("Returns random integers from low to high - 1.")
                                 .attr_required("low", AttrValue::Kind::Int, "the smallest value")
                                 .attr_required("high", AttrValue::Kind::Int, "one more than the largest value")
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape")
                                 .attr_required("dtype", AttrValue::Kind::DType, "the dtype")
                                 .out("y", dtype_of, shape::size)
                                 .random()
                                 .internal()
                                 .flops(cost::drawing)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("random numbers do not depend on tensors")
                                 .no_onnx("ONNX has no random integers");

}  // namespace hw
