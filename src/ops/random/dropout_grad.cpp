// _dropout_grad: elements that were kept, scaled.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.in[0].shape == c.in[1].shape, "dy is ", c.in[0], ", mask ", c.in[1], ": they must have one shape");
  return c.in[0].shape;
}

static const RegisterOp op = OpDef("_dropout_grad")
                                 .doc("Returns dy times scale where mask is true, else 0.")
                                 .in("dy", "any shape", inexact)
                                 .in("mask", "the same shape", boolean)
                                 .attr_required("scale", AttrValue::Kind::Float, "the factor")
                                 .out("dx", dtype::same, shape_of)
                                 .internal()
                                 .flops(cost::bandwidth_bound)
                                 .sbp(sbp::elementwise)
                                 .grad("mask",
                                       [](GradCtx& g) {
                                         static const Op same{"_dropout_grad"};
                                         g.dx(0, same({g.dy(), g.in(1)}, {g.attr("scale").f64()}));
                                       })
                                 .no_onnx("gradients are not exported");

}  // namespace hw
