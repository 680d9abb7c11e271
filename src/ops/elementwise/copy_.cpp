// copy_: writes other into input, with broadcasting and conversion. Only called in place.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of_input(const InferCtx& c) {
  Dims s = broadcast_shapes(c.in[0].shape, c.in[1].shape);
  check_runtime(s == c.in[0].shape, "other does not broadcast to the shape of input");
  return s;
}

static const RegisterOp op =
    OpDef("copy_")
        .doc("Writes `other` into `input`; `other` is broadcast and converted. Returns `input`.")
        .in("input", "any shape; overwritten")
        .in("other", "a shape that broadcasts to that of input")
        .attr("non_blocking", false, "accepted; copies on the CPU are done when the call returns")
        .numbers(NumberRule::Stores)
        .out("y", dtype::same, shape_of_input)
        .flops(cost::bandwidth_bound)
        .sbp(sbp::elementwise)
        .grad("",
              [](GradCtx& g) {
                if (g.needs(0)) g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype));
                g.dx(1, g.dy());
              })
        .onnx("Expand(Cast(other))");

}  // namespace hw
