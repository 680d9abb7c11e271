// softshrink: x moved toward zero.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static DType softshrink_dtype(const InferCtx& c) {
  check_runtime(c.attr("lambd").f64() >= 0, "lambd must not be negative, got ", c.attr("lambd").f64());
  return c.compute;
}

static const RegisterOp op =
    OpDef("softshrink")
        .doc("Returns x - lambd where x is above lambd, x + lambd where x is below -lambd, else 0.")
        .in("input", "any shape", floating)
        .attr("lambd", Scalar(0.5), "width of the zero band; not negative")
        .promote()
        .out("y", softshrink_dtype, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("y", [](GradCtx& g) { g.dx(0, where(ne(g.out(), number(0)), g.dy(), number(0))); })
        .onnx("Shrink(x, lambd=lambd, bias=lambd)");

}  // namespace hw
