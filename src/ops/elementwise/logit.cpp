// logit: the inverse of the sigmoid.
#include <limits>

#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("logit")
        .doc(
            "Returns log(x / (1 - x)); with eps, x is clamped to [eps, 1 - eps] first. NaN outside [0, 1] without eps.")
        .in("input", "any shape", floating)
        .attr_none("eps", AttrValue::Kind::Float, "the bound for clamping")
        .promote(Promote::Floating)
        .out("y", dtype::promoted, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                const Tensor& x = g.in(0);
                Tensor inner = g.dy() / (x * (1 - x));
                const bool bounded = !g.attr("eps").none();
                const double eps = bounded ? g.attr("eps").f64() : 0.0;
                Tensor inside = logical_and(ge(x, number(eps)), le(x, number(1.0 - eps)));
                g.dx(0, where(inside, inner, number(bounded ? 0.0 : std::numeric_limits<double>::quiet_NaN())));
              })
        .onnx("Log(Div(x, Sub(1, x)))");

}  // namespace hw
