// _vector_norm: the kernel and the gradient of the norms of order 0, 1, 2 and infinity.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

/// d|x|_p / dx for each order; zero where the norm is, as in torch.
static void norm_grad(GradCtx& g) {
  const double ord = g.attr("ord").f64();
  if (ord == 0) return g.dx(0, zeros(g.in_spec(0).shape, g.in_spec(0).dtype));
  Tensor x = g.in(0), dy = with_reduced_axes(g, g.dy());
  if (ord == 1) return g.dx(0, dy * sign(x));
  Tensor y = with_reduced_axes(g, g.out());
  if (ord == 2) {
    Tensor zero = eq(y, number(Scalar(0.0)));
    return g.dx(0, x * (where(zero, number(Scalar(0.0)), dy) / where(zero, number(Scalar(1.0)), y)));
  }
  Tensor mask = to(eq(abs(x), y), x.dtype());
  Tensor count = sum(mask, axes_of(g.attr("dim"), x.ndim()), true);
  g.dx(0, sign(x) * mask * (dy / count));
}

static const RegisterOp op = OpDef("_vector_norm")
                                 .doc("The vector norm of order 0, 1, 2, inf or -inf over the axes `dim`.")
                                 .in("input", "any shape", floating)
                                 .attr("ord", 2.0, "the order")
                                 .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
                                 .attr("keepdim", false, "whether the axes stay with size 1")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the dtype of the result")
                                 .out("y", dtype::given_or_same, shape::reduced)
                                 .internal()
                                 .autocast(Autocast::F32)
                                 .flops(cost::per_input<10>)
                                 .sbp(sbp::reduce_plain)
                                 .grad("input y", norm_grad)
                                 .onnx("ReduceL2, ReduceL1, ReduceMax(Abs(x))");

}  // namespace hw
