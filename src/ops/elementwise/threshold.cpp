// threshold: x, or a value where x is small.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static DType threshold_dtype(const InferCtx& c) {
  if (c.compute == DType::U8)
    for (const char* name : {"threshold", "value"})
      check_runtime(c.attr(name).f64() >= 0, name, " ", c.attr(name),
                    " does not fit u8, whose range is [0, 255]. Use a signed dtype.");
  return c.compute;
}

static const RegisterOp op =
    OpDef("threshold")
        .doc("Returns x where x is above threshold, else value.")
        .in("input", "any shape", real_types & ~boolean)
        .attr_required("threshold", AttrValue::Kind::Scalar, "values up to it are replaced")
        .attr_required("value", AttrValue::Kind::Scalar, "what replaces them")
        .promote()
        .out("y", threshold_dtype, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) { g.dx(0, where(gt(g.in(0), number(g.attr("threshold").scalar())), g.dy(), number(0))); })
        .onnx("Where(Greater(x, threshold), x, value)");

}  // namespace hw
