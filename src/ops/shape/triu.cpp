// triu: matrices with zeros below a diagonal.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_runtime(c.in[0].ndim() >= 2, "triu() needs at least two axes, got ", c.in[0]);
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("triu")
        .doc("Returns the matrices in the last two axes with the elements below the diagonal `diagonal` set to zero.")
        .in("input", "at least two axes")
        .attr("diagonal", int64_t{0}, "above (positive) or below the main diagonal")
        .out("y", dtype::same, shape_of)
        .inplace()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          Dims to = axes_in_order(c.in()[0].ndim());
          to[to.size() - 1] = to[to.size() - 2] = -1;
          add_moved_axes(c, to);
        })
        .grad("",
              [](GradCtx& g) {
                static const Op same{"triu"};
                g.dx(0, same({g.dy()}, {g.attr("diagonal").i64()}));
              })
        .onnx("Trilu");

}  // namespace hw
