// cumprod: running products.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

/// Before the first zero of a line: the sum of dy * y from there on, over x. At it: the same with the products that skip it.
/// After it: zero, for every product contains it.
static void cumprod_grad(GradCtx& g) {
  static const Op cumsum{"cumsum"}, cumprod{"cumprod"};
  if (g.in_spec(0).ndim() == 0) return g.dx(0, g.dy());
  const int64_t dim = g.attr("dim").i64();
  auto sums_from_here = [&](const Tensor& t) { return flip(cumsum({flip(t, {dim})}, {dim}), {dim}); };
  Tensor x = to(g.in(0), g.out_spec(0).dtype), none = number(Scalar(0)), one = number(Scalar(1));
  Tensor zero = eq(x, none), zeros_so_far = cumsum({zero}, {dim});
  Tensor first = logical_and(zero, eq(zeros_so_far, one));
  Tensor skipped = where(first, one, x);
  Tensor before = sums_from_here(g.dy() * conj(cumprod({x}, {dim}))) / conj(where(zero, one, x));
  Tensor at = sums_from_here(g.dy() * conj(cumprod({skipped}, {dim})));
  g.dx(0, where(eq(zeros_so_far, none), before, where(first, at, none)));
}

static const RegisterOp op = OpDef("cumprod")
                                 .doc(
                                     "Returns the products of all elements up to each one along the axis `dim`. "
                                     "Integers and bool are multiplied as int64.")
                                 .example(">>> hw.cumprod(hw.tensor([1, 2, 3]), dim=0)\ntensor([1, 2, 6])")
                                 .in("input", "any shape")
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
                                 .keyword()
                                 .out("y", dtype::accumulated, shape::same)
                                 .inplace()
                                 .autocast(Autocast::F32)
                                 .flops(cost::scanning)
                                 .sbp(sbp::along_dim)
                                 .grad("input", cumprod_grad)
                                 .onnx("Scan");

}  // namespace hw
