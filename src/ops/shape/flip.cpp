// flip: axes run backwards.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/shape/axes.h"

namespace hw {

static Dims flipped(const Dims& dims, int64_t ndim) { return dims.empty() ? Dims{} : normalize_axes(dims, ndim); }

static const RegisterOp op =
    OpDef("flip")
        .doc("Returns a copy with the order of the elements reversed along each axis in `dims`.")
        .example(">>> hw.flip(hw.tensor([1, 2, 3]), (0,))\ntensor([3, 2, 1])")
        .in("input", "any shape")
        .attr_required("dims", AttrValue::Kind::Ints, "axes to reverse")
        .varargs()
        .out("y", dtype::same,
             [](const InferCtx& c) {
               flipped(c.attr("dims").ints(), c.in[0].ndim());
               return c.in[0].shape;
             })
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          Dims to = axes_in_order(c.in()[0].ndim());
          if (!to.empty())
            for (int64_t axis : flipped(c.attr("dims").ints(), c.in()[0].ndim())) to[static_cast<size_t>(axis)] = -1;
          add_moved_axes(c, to);
        })
        .grad("", [](GradCtx& g) { g.dx(0, flip(g.dy(), g.attr("dims").ints())); })
        .onnx("Slice with steps -1");

}  // namespace hw
