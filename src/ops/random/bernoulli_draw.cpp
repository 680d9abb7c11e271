// _bernoulli: zeros and ones with given probabilities.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const Dims& size = c.attr("size").ints();
  check_runtime(broadcast_shapes(size, c.in[0].shape) == size, "p of shape ", c.in[0].shape, " does not broadcast to ",
                size);
  return size;
}

static const RegisterOp op = OpDef("_bernoulli")
                                 .doc("Returns 1 with the probability in `p`, else 0.")
                                 .in("p", "broadcasts to size", floating)
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape")
                                 .attr_required("dtype", AttrValue::Kind::DType, "the dtype")
                                 .out(
                                     "y", [](const InferCtx& c) { return c.attr("dtype").dtype(); }, shape_of)
                                 .random()
                                 .internal()
                                 .flops(cost::drawing)
                                 .sbp(sbp::broadcast_only)
                                 .no_grad("a draw is not differentiable")
                                 .onnx("Bernoulli");

}  // namespace hw
