// full: one value everywhere.
#include "base/error.h"
#include "op/cost.h"
#include "op/number_rule.h"
#include "op/rules.h"

namespace hw {

static DType full_dtype(const InferCtx& c) {
  const AttrValue& given = c.attr("dtype");
  const Scalar& value = c.attr("fill_value").scalar();
  const DType d = given.none() ? value.dtype() : given.dtype();
  check_stored("fill_value", value, d);
  return d;
}

static const RegisterOp op =
    OpDef("full")
        .doc("Returns a tensor of the given size with every element equal to fill_value.")
        .attr_required("size", AttrValue::Kind::Ints, "the shape")
        .attr_required("fill_value", AttrValue::Kind::Scalar, "the value; its kind decides the dtype if none is given")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype")
        .keyword()
        .out("y", full_dtype, shape::size)
        .flops(cost::bandwidth_bound)
        .sbp(sbp::broadcast_only)
        .no_grad("it has no tensor input")
        .onnx("ConstantOfShape");

}  // namespace hw
