// logcumsumexp: logarithms of running sums of exponentials, without overflow.
#include <limits>

#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// dx[i] = sum over j >= i of dy[j] exp(x[i] - y[j]), with the sum in logarithms: its positive and its negative terms apart.
static void logcumsumexp_grad(GradCtx& g) {
  static const Op running{"logcumsumexp"};
  if (g.in_spec(0).ndim() == 0) return g.dx(0, g.dy());
  const int64_t dim = g.attr("dim").i64();
  const Tensor &x = g.in(0), &y = g.out(), dy = g.dy();
  const Tensor nothing = number(static_cast<double>(std::numeric_limits<float>::lowest()) / 4);
  auto part = [&](const Tensor& terms) {
    const Tensor there = gt(terms, number(0.0));
    const Tensor logs = where(there, log(where(there, terms, number(1.0))), nothing) - y;
    return exp(flip(running({flip(logs, {dim})}, {dim}), {dim}) + x);
  };
  g.dx(0, part(dy) - part(-dy));
}

static const RegisterOp op = OpDef("logcumsumexp")
                                 .doc("Returns log(cumsum(exp(input))) along the axis `dim`, without overflow.")
                                 .example(">>> hw.logcumsumexp(hw.tensor([0.0, 0.0]), dim=0)\ntensor([0.0000, 0.6931])")
                                 .in("input", "any shape", floating)
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .out("y", dtype::same, shape::same)
                                 .autocast(Autocast::F32)
                                 .sbp(sbp::along_dim)
                                 .flops([](const InferCtx& c) { return 10.0 * static_cast<double>(c.in[0].numel()); })
                                 .grad("input y", logcumsumexp_grad)
                                 .no_onnx("Log(CumSum(Exp(x))) overflows where this does not");

}  // namespace hw
