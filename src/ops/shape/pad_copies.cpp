// _pad_copies: copies of the input at the ends of axes.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"
#include "ops/shape/padded_shape.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  return padded_shape(c.in[0].shape, c.attr("pad").ints(), c.attr("mode").text());
}

static const RegisterOp op =
    OpDef("_pad_copies")
        .doc("Returns the input with copies of its elements added at the ends of its last axes.")
        .in("input", "any shape")
        .attr_required("pad", AttrValue::Kind::Ints, "two numbers for each axis, before and after, the last axis first")
        .attr_required("mode", AttrValue::Kind::Text, "'reflect', 'replicate' or 'circular'")
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const Dims& pad = c.attr("pad").ints();
          const int64_t n = c.in()[0].ndim();
          Dims to = axes_in_order(n);
          for (size_t i = 0; i < pad.size(); ++i)
            if (pad[i] != 0) to[static_cast<size_t>(n - 1) - i / 2] = -1;
          add_moved_axes(c, to);
        })
        .grad("",
              [](GradCtx& g) {
                static const Op back{"_pad_copies_grad"};
                g.dx(0, back({g.dy()}, {g.in_spec(0).shape, g.attr("pad").ints(), g.attr("mode").text()}));
              })
        .onnx("Pad");

}  // namespace hw
