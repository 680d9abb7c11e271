// _pad_copies_grad: every copy added to its original; the gradient of _pad_copies.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/padded_shape.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  Dims size = shape::size(c);
  const Dims padded = padded_shape(size, c.attr("pad").ints(), c.attr("mode").text());
  check_runtime(c.in[0].shape == padded, "x is ", c.in[0], ", the padded shape is ", padded);
  return size;
}

static const RegisterOp op = OpDef("_pad_copies_grad")
                                 .doc("Returns, for each element that was padded, the sum of the inputs at its copies.")
                                 .in("input", "the padded shape")
                                 .attr_required("size", AttrValue::Kind::Ints, "the shape before padding")
                                 .attr_required("pad", AttrValue::Kind::Ints, "as in _pad_copies")
                                 .attr_required("mode", AttrValue::Kind::Text, "as in _pad_copies")
                                 .out("y", dtype::same, shape_of)
                                 .internal()
                                 .flops(cost::bandwidth_bound)
                                 .sbp([](SbpCtx& c) { c.add({partial_sum()}, {partial_sum()}); })
                                 .grad("",
                                       [](GradCtx& g) {
                                         static const Op pad{"_pad_copies"};
                                         g.dx(0, pad({g.dy()}, {g.attr("pad").ints(), g.attr("mode").text()}));
                                       })
                                 .no_onnx("gradients are not exported");

}  // namespace hw
