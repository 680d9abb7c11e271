// random_: random integers from `from` to `to` - 1.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  if (!c.attr("from").none() && !c.attr("to").none())
    check_runtime(c.attr("from").i64() < c.attr("to").i64(), "from must be less than to, got ", c.attr("from").i64(),
                  " and ", c.attr("to").i64());
  if (!c.attr("from").none() && c.attr("to").none())
    check_runtime(c.attr("from").i64() > 0, "the end must be positive, got ", c.attr("from").i64());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("random_")
        .doc("Fills the input in place with random integers from `from` to `to` - 1. Returns it.")
        .in("input", "any shape; overwritten", real_types)
        .attr_none("from", AttrValue::Kind::Int, "the smallest value, or the end if `to` is not given")
        .attr_none("to", AttrValue::Kind::Int, "one more than the largest value; default: what the dtype can hold")
        .out("y", dtype::same, shape_of)
        .random()
        .flops(cost::drawing)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.dy().dtype())); })
        .no_onnx("writes in place");

}  // namespace hw
