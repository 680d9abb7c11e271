// _interpolate_grad: the transpose of _interpolate.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const Op interpolate_op{"_interpolate"};

static Dims interpolate_grad_shape(const InferCtx& c) {
  Dims out = c.attr("input_shape").ints();
  const TensorSpec& dy = c.in[0];
  int64_t leading = dy.ndim() - static_cast<int64_t>(c.attr("size").ints().size());
  check_runtime(out.size() == dy.shape.size() && leading >= 0, "input_shape ", out, " does not fit the gradient ",
                dy.shape);
  for (int64_t axis = 0; axis < leading; ++axis) out[static_cast<size_t>(axis)] = dy.shape[static_cast<size_t>(axis)];
  return out;
}

static const RegisterOp op = OpDef("_interpolate_grad")
                                 .doc("The gradient of _interpolate.")
                                 .in("dy", "the resized shape", floating)
                                 .attr_required("input_shape", AttrValue::Kind::Ints,
                                                "shape of the input; axes before the spatial ones follow dy")
                                 .attr_required("size", AttrValue::Kind::Ints)
                                 .attr("mode", "nearest")
                                 .attr("align_corners", false)
                                 .attr("scales", std::vector<double>{})
                                 .out("dx", dtype::same, interpolate_grad_shape)
                                 .internal()
                                 .flops(cost::resampling_gradient)
                                 .sbp([](SbpCtx& c) {
                                   int64_t leading =
                                       c.in()[0].ndim() - static_cast<int64_t>(c.attr("size").ints().size());
                                   for (int64_t axis = 0; axis < leading; ++axis) c.add({split(axis)}, {split(axis)});
                                   c.add({partial_sum()}, {partial_sum()});
                                 })
                                 .grad("",
                                       [](GradCtx& g) {
                                         const Attrs& a = g.attrs();
                                         g.dx(0, interpolate_op({g.dy()}, {a[1], a[2], a[3], a[4]}));
                                       })
                                 .no_onnx("a gradient");

}  // namespace hw
