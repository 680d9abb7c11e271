// randperm: a random order.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.attr("n").i64() >= 0, "n cannot be negative, got ", c.attr("n").i64());
  return {c.attr("n").i64()};
}

static const RegisterOp op =
    OpDef("randperm")
        .doc("Returns the numbers 0 to n - 1 in random order.")
        .attr_required("n", AttrValue::Kind::Int, "how many")
        .attr_none("dtype", AttrValue::Kind::DType, "the dtype; default: int64")
        .keyword()
        .out(
            "y", [](const InferCtx& c) { return c.attr("dtype").none() ? DType::I64 : c.attr("dtype").dtype(); },
            shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .no_grad("random numbers do not depend on tensors")
        .no_onnx("ONNX has no permutations");

}  // namespace hw
