// add: the sum.
#include "base/error.h"
#include "core/range.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static DType add_dtype(const InferCtx& c) {
  check_runtime(is_inexact(c.compute) || c.attr("alpha").scalar().kind() <= Scalar::Kind::Int,
                "alpha must be an integer for integer tensors, got ", c.attr("alpha"));
  check_runtime(fits(c.attr("alpha").scalar(), c.compute), "alpha=", c.attr("alpha"), " does not fit ", c.compute);
  return c.compute;
}

static const RegisterOp op = OpDef("add")
                                 .doc("Adds alpha * other to input, element by element, with broadcasting.")
                                 .in("input", "any shape", any_dtype)
                                 .in("other", "any shape that broadcasts with input", any_dtype)
                                 .attr("alpha", Scalar(1), "factor of other")
                                 .keyword()
                                 .promote()
                                 .numbers(NumberRule::Wraps)
                                 .out("y", add_dtype, shape::broadcast)
                                 .inplace()
                                 .autocast(Autocast::Widest)
                                 .sbp(sbp::additive)
                                 .grad("",
                                       [](GradCtx& g) {
                                         g.dx(0, g.dy());
                                         if (!g.needs(1)) return;
                                         const Scalar& alpha = g.attr("alpha").scalar();
                                         g.dx(1, (alpha == Scalar(1) ? g.dy() : g.dy() * alpha));
                                       })
                                 .onnx("Add");

}  // namespace hw
