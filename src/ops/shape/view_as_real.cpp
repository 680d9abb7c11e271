// view_as_real: real and imaginary parts as a last axis.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs&) {
  View v{x.shape, x.strides};
  for (int64_t& s : v.strides) s *= 2;
  v.shape.push_back(2);
  v.strides.push_back(1);
  return v;
}

static const RegisterOp op =
    OpDef("view_as_real")
        .doc("Returns a view of a complex tensor with a last axis of size 2 for the real and imaginary parts.")
        .in("input", "any shape", complex_types)
        .out("y", dtype::real, nullptr)
        .view(view)
        .sbp([](SbpCtx& c) { add_moved_axes(c, axes_in_order(c.in()[0].ndim())); })
        .grad("",
              [](GradCtx& g) {
                static const Op join{"view_as_complex"};
                g.dx(0, join({contiguous(g.dy())}));
              })
        .no_onnx("ONNX has no complex operators");

}  // namespace hw
