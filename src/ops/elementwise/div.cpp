// div: the quotient: true, rounded down, or rounded toward zero.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// True quotients of integers are floating; rounded quotients keep the dtype.
static DType quotient_dtype(const InferCtx& c) {
  const AttrValue& mode = c.attr("rounding_mode");
  if (mode.none()) return is_inexact(c.compute) ? c.compute : default_dtype();
  check_runtime(mode.text() == "floor" || mode.text() == "trunc",
                "rounding_mode must be None, 'floor' or 'trunc', got '", mode.text(), "'");
  check_type(!is_complex(c.compute), "complex quotients cannot be rounded; leave rounding_mode out");
  check_type(c.compute != DType::Bool, "bool quotients cannot be rounded. Convert with .to().");
  return c.compute;
}

static const RegisterOp op =
    OpDef("div")
        .doc(
            "Divides element by element, with broadcasting. True quotients of integers are floating; with "
            "rounding_mode "
            "'floor' or 'trunc' the quotient is rounded and keeps the dtype, and a zero divisor of integers raises "
            "RuntimeError.")
        .example(">>> hw.div(hw.tensor([-7, 7]), 2, rounding_mode='floor')\ntensor([-4,  3])")
        .in("input", "any shape")
        .in("other", "any shape that broadcasts with input")
        .attr_none("rounding_mode", AttrValue::Kind::Text, "None, 'floor' or 'trunc'")
        .keyword()
        .promote()
        .out("y", quotient_dtype, shape::broadcast)
        .inplace()
        .autocast(Autocast::Widest)
        .sbp(sbp::elementwise)
        .grad("input:other other",
              [](GradCtx& g) {
                if (!g.attr("rounding_mode").none()) {  // piecewise constant
                  for (size_t i = 0; i < 2; ++i) g.dx(i, zeros(g.in_spec(i).shape, g.in_spec(i).dtype));
                  return;
                }
                Tensor d = g.dy() / conj(g.in(1));
                if (g.needs(0)) g.dx(0, d);
                if (g.needs(1)) g.dx(1, -(d * conj(g.in(0) / g.in(1))));
              })
        .onnx("Div");

}  // namespace hw
