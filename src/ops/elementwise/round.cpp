// round: the nearest integer.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("round")
                                 .doc(
                                     "Rounds to the nearest integer, halves to the even one; with `decimals` to that "
                                     "many decimal places (negative: to tens, hundreds, ...).")
                                 .example(">>> hw.round(hw.tensor([0.5, 1.5, 2.6]))\ntensor([0., 2., 3.])")
                                 .in("input", "any shape", real_types & ~boolean)
                                 .attr("decimals", 0, "number of decimal places")
                                 .keyword()
                                 .promote()
                                 .out("y", dtype::promoted, shape::same)
                                 .inplace()
                                 .sbp(sbp::elementwise)
                                 .grad("", [](GradCtx& g) { g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype)); })
                                 .onnx("Round");

}  // namespace hw
