// sub: the difference.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("sub")
    .doc("Subtracts alpha * other from input, element by element, with broadcasting.")
    .in("input", "any shape", any_dtype)
    .in("other", "any shape that broadcasts with input", any_dtype)
    .attr("alpha", Scalar(1), "factor of other")
    .keyword()
    .promote()
    .out("y", dtype::promoted, shape::broadcast)
    .inplace()
    .autocast(Autocast::Widest)
    .sbp(sbp::additive)
    .grad("", [](GradCtx& g) {
      g.dx(0, g.dy());
      if (!g.needs(1)) return;
      const Scalar& alpha = g.attr("alpha").scalar();
      g.dx(1, -(alpha == Scalar(1) ? g.dy() : g.dy() * alpha));
    })
    .onnx("Sub");

}  // namespace hw
