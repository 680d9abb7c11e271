// fill_: one value everywhere, in place.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.in[1].ndim() == 0, "value must be a number or a 0-d tensor, got ", c.in[1]);
  return c.in[0].shape;
}

static const RegisterOp op = OpDef("fill_")
                                 .doc("Sets every element of `input` to `value`. Returns `input`.")
                                 .in("input", "any shape; overwritten")
                                 .in("value", "a number or a 0-d tensor")
                                 .numbers(NumberRule::Stores)
                                 .out("y", dtype::same, shape_of)
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::elementwise)
                                 .grad("",
                                       [](GradCtx& g) {
                                         if (g.needs(0)) g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype));
                                         if (g.needs(1)) g.dx(1, sum(g.dy()));
                                       })
                                 .onnx("ConstantOfShape");

}  // namespace hw
