// prod: the product over some or all axes.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

/// The product of the others: y / x where nothing is zero, and at a zero the product of the rest if it is the only one.
static void prod_grad(GradCtx& g) {
  static const Op prod{"prod"};
  Tensor x = to(g.in(0), g.out_spec(0).dtype);
  const Dims axes = axes_of(g.attr("dim"), x.ndim());
  Tensor zero = eq(x, number(Scalar(0)));
  Tensor others = where(zero, number(Scalar(1)), x);
  Tensor product = prod({others}, {axes, true});
  Tensor zeros = sum(to(zero, DType::F32), axes, true);
  Tensor none = number(Scalar(0));
  Tensor at_zero = where(eq(zeros, number(Scalar(1.0))), product, none);
  Tensor elsewhere = where(eq(zeros, number(Scalar(0.0))), product / others, none);
  g.dx(0, with_reduced_axes(g, g.dy()) * conj(where(zero, at_zero, elsewhere)));
}

static const RegisterOp op =
    OpDef("prod")
        .doc(
            "Returns the product over the axes `dim` (all axes by default). Integers and bool are multiplied as int64.")
        .example(">>> hw.prod(hw.tensor([[1, 2], [3, 4]]), dim=1)\ntensor([ 2, 12])")
        .in("input", "any shape")
        .attr_none("dim", AttrValue::Kind::Ints, "axis or axes; None: all")
        .attr("keepdim", false, "whether the axes stay with size 1")
        .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
        .keyword()
        .out("y", dtype::accumulated, shape::reduced)
        .autocast(Autocast::F32)
        .flops(cost::per_input<1>)
        .sbp(sbp::reduce_plain)
        .grad("input", prod_grad)
        .onnx("ReduceProd");

}  // namespace hw
