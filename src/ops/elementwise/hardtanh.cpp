// hardtanh: x between two bounds.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static DType hardtanh_dtype(const InferCtx& c) {
  const double low = c.attr("min_val").f64(), high = c.attr("max_val").f64();
  check(low <= high, "min_val must not be above max_val, got ", low, " and ", high);
  return c.compute;
}

static const RegisterOp op =
    OpDef("hardtanh")
        .doc("Returns min_val where x is below it, max_val where x is above it, else x.")
        .in("input", "any shape", real_types & ~boolean)
        .attr("min_val", Scalar(-1.0), "the lower bound")
        .attr("max_val", Scalar(1.0), "the upper bound")
        .promote()
        .numbers(NumberRule::Bounds)
        .out("y", hardtanh_dtype, shape::same)
        .inplace()
        .sbp(sbp::elementwise)
        .grad("input",
              [](GradCtx& g) {
                static const Op hardtanh_grad{"hardtanh_grad"};
                g.dx(0, hardtanh_grad({g.dy(), g.in(0)}, {g.attr("min_val"), g.attr("max_val")}));
              })
        .onnx("Clip(x, min_val, max_val)");

}  // namespace hw
