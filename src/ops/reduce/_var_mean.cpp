// _var_mean: variance or standard deviation, and mean, in one pass over the data.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

static void var_grad(GradCtx& g) {
  const double n = static_cast<double>(reduced_count(g.in_spec(0), g.attr("dim")));
  const double divisor = n - g.attr("correction").f64();
  Tensor dx;
  if (g.has_dy(0)) {
    Tensor dy = with_reduced_axes(g, g.dy(0));
    if (g.attr("root").truth()) {
      Tensor std = with_reduced_axes(g, g.out(0)), zero = eq(std, number(Scalar(0.0)));
      dy = where(zero, number(Scalar(0.0)), dy) / where(zero, number(Scalar(2.0)), std * Scalar(2.0));
    }
    dx = (g.in(0) - with_reduced_axes(g, g.out(1))) * (dy * Scalar(2 / (divisor > 0 ? divisor : 0)));
  }
  if (g.has_dy(1)) {
    Tensor part = expand(with_reduced_axes(g, g.dy(1)) * Scalar(1 / n), g.in_spec(0).shape);
    dx = dx.defined() ? dx + part : part;
  }
  g.dx(0, dx);
}

static const RegisterOp op =
    OpDef("_var_mean")
        .doc("The variance (its root with `root`) and the mean over the axes `dim`.")
        .in("input", "any shape", floating)
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr("correction", 1.0, "what is subtracted from the number of elements in the divisor")
        .attr("root", false, "whether the first output is the standard deviation")
        .out("var", dtype::same, shape::reduced)
        .out("mean", dtype::same, shape::reduced)
        .internal()
        .autocast(Autocast::F32)
        .flops(cost::per_input<4>)
        .sbp(sbp::reduce_plain)
        .grad("input var mean", var_grad)
        .onnx("ReduceMean, Sub, Square, ReduceMean");

}  // namespace hw
