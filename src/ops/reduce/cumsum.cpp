// cumsum: running sums.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("cumsum")
                                 .doc(
                                     "Returns the sums of all elements up to each one along the axis `dim`. Integers "
                                     "and bool are summed as int64.")
                                 .example(">>> hw.cumsum(hw.tensor([1, 2, 3]), dim=0)\ntensor([1, 3, 6])")
                                 .in("input", "any shape")
                                 .attr_required("dim", AttrValue::Kind::Int, "the axis")
                                 .attr_none("dtype", AttrValue::Kind::DType, "the elements are converted to this first")
                                 .keyword()
                                 .out("y", dtype::accumulated, shape::same)
                                 .inplace()
                                 .autocast(Autocast::F32)
                                 .flops(cost::scanning)
                                 .sbp([](SbpCtx& c) {
                                   sbp::along_dim(c);
                                   c.add({partial_sum()}, {partial_sum()});
                                 })
                                 .grad("",
                                       [](GradCtx& g) {
                                         static const Op cumsum{"cumsum"};
                                         const int64_t dim = g.attr("dim").i64();
                                         if (g.in_spec(0).ndim() == 0) return g.dx(0, g.dy());
                                         g.dx(0, flip(cumsum({flip(g.dy(), {dim})}, {dim}), {dim}));
                                       })
                                 .onnx("CumSum");

}  // namespace hw
