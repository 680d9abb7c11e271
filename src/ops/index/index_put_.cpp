// index_put_: writes to the places that advanced indexing selects.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/index_shape.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  Dims at = indexed_shape(c.in[0], c.in.subspan(2));
  bool fits = false;
  try {
    fits = broadcast_shapes(at, c.in[1].shape) == at;
  } catch (const Error&) {
  }
  check_runtime(fits, "values of shape ", c.in[1].shape, " do not broadcast to the indexed shape ", at);
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("index_put_")
        .doc(
            "Writes `values` to, or with accumulate=True adds them to, the elements that `indices` select. Used by "
            "x[...] = y.")
        .in("input", "at least one axis")
        .in("values", "a shape that broadcasts to that of the selection")
        .in_optional_list("indices", "integer tensors that broadcast together, or None", index_types)
        .attr("accumulate", false, "add instead of overwriting; an element selected twice gets both")
        .out("y", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp(sbp::broadcast_only)
        .grad("indices",
              [](GradCtx& g) {
                static const Op gather{"index"}, put{"index_put_"};
                Tensors in{g.dy()};
                for (size_t i = 2; i < g.num_inputs(); ++i) in.push_back(g.in(i));
                if (g.needs(1)) g.dx(1, gather(in));
                if (!g.needs(0)) return;
                if (g.attr("accumulate").truth()) return g.dx(0, g.dy());
                in.insert(in.begin() + 1, zeros({}, g.dy().dtype()));
                g.dx(0, put(in, {false}));
              })
        .onnx("ScatterND");

}  // namespace hw
