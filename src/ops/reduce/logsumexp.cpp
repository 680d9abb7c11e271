// logsumexp: the logarithm of the sum of exponentials, without overflow.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/reduce/reduced.h"

namespace hw {

static const RegisterOp op = OpDef("logsumexp")
                                 .doc("Returns log(sum(exp(x))) over the axes `dim`, without overflow.")
                                 .example(">>> hw.logsumexp(hw.tensor([0.0, 0.0]), dim=0)\ntensor(0.6931)")
                                 .in("input", "any shape", floating)
                                 .promote(Promote::Floating)
                                 .attr_required("dim", AttrValue::Kind::Ints, "axis or axes; empty: all")
                                 .attr("keepdim", false, "whether the axes stay with size 1")
                                 .out("y", dtype::promoted, shape::reduced)
                                 .autocast(Autocast::F32)
                                 .flops(cost::per_input<10>)
                                 .sbp(sbp::reduce_plain)
                                 .grad("input y",
                                       [](GradCtx& g) {
                                         g.dx(0, with_reduced_axes(g, g.dy()) * exp(to(g.in(0), g.out_spec(0).dtype) -
                                                                                    with_reduced_axes(g, g.out())));
                                       })
                                 .onnx("ReduceLogSumExp");

}  // namespace hw
