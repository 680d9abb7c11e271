// cast: values in another element type.
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("cast")
        .doc("Converts to another dtype. Floating to integer truncates toward zero; anything to bool is `!= 0`.")
        .in("input", "any shape")
        .attr_required("dtype", AttrValue::Kind::DType, "the dtype of the result")
        .out(
            "y", [](const InferCtx& c) { return c.attr("dtype").dtype(); }, shape::same)
        .sbp(sbp::elementwise)
        .grad("", [](GradCtx& g) { g.dx(0, g.dy()); })
        .onnx("Cast");

}  // namespace hw
