// sort: elements in order.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  normalize_axis(c.attr("dim").i64(), c.in[0].ndim());
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("sort")
        .doc(
            "Returns the elements sorted along `dim`, and the index that each had. Equal elements keep their order; "
            "NaN counts as larger than every number.")
        .in("input", "any shape", real_types)
        .attr("dim", int64_t{-1}, "the axis")
        .attr("descending", false, "largest first")
        .attr("stable", false, "accepted; the sort is always stable")
        .out("values", dtype::same, shape_of)
        .out("indices", dtype::int64, shape::same)
        .flops(cost::sorting)
        .sbp(sbp::along_dim)
        .grad("indices",
              [](GradCtx& g) {
                static const Op scatter{"scatter"};
                if (!g.has_dy(0)) return;
                g.dx(0, scatter({zeros(g.in_spec(0).shape, g.dy().dtype()), g.out(1), g.dy()}, {g.attr("dim").i64()}));
              })
        .onnx("TopK");

}  // namespace hw
