// view: another shape for the same memory.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/view_strides.h"

namespace hw {

static View view(const TensorSpec& x, const Attrs& attrs) {
  View v;
  v.shape = resolved_shape(x.shape, attrs[0].ints());
  check_runtime(view_strides(x.shape, x.strides, v.shape, v.strides), "the input with strides ", x.strides,
                " cannot be seen as ", v.shape, " without copying; use reshape()");
  return v;
}

static const RegisterOp op =
    OpDef("view")
        .doc("Returns a view of the same memory under another shape. One size may be -1 and is worked out.")
        .in("input", "any shape")
        .attr_required("shape", AttrValue::Kind::Ints, "the new shape")
        .varargs()
        .out("y", dtype::same, nullptr)
        .view(view)
        .sbp(sbp::broadcast_only)
        .grad("", [](GradCtx& g) { g.dx(0, reshape(g.dy(), g.in_spec(0).shape)); })
        .onnx("Reshape");

}  // namespace hw
