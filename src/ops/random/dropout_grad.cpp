// _dropout_grad: elements that were kept, scaled.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("_dropout_grad")
                                 .doc("Returns dy times scale where mask is true, else 0.")
                                 .in("dy", "any shape", inexact)
                                 .in("mask", "the same shape", boolean)
                                 .attr_required("scale", AttrValue::Kind::Float, "the factor")
                                 .out("dx", dtype::same, shape::same)
                                 .internal()
                                 .sbp(sbp::elementwise)
                                 .grad("mask",
                                       [](GradCtx& g) {
                                         static const Op same{"_dropout_grad"};
                                         g.dx(0, same({g.dy(), g.in(1)}, {g.attr("scale").f64()}));
                                       })
                                 .no_onnx("gradients are not exported");

}  // namespace hw
