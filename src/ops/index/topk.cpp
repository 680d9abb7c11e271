// topk: the k largest or smallest elements.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const size_t axis = static_cast<size_t>(normalize_axis(c.attr("dim").i64(), c.in[0].ndim()));
  Dims shape = c.in[0].shape;
  const int64_t size = shape.empty() ? 1 : shape[axis], k = c.attr("k").i64();
  check_runtime(k >= 0 && k <= size, "k must be in [0, ", size, "], got ", k);
  if (!shape.empty()) shape[axis] = k;
  return shape;
}

static const RegisterOp op =
    OpDef("topk")
        .doc(
            "Returns the k largest (or smallest) elements along `dim`, and their indices. NaN counts as larger than "
            "every number.")
        .in("input", "any shape", real_types)
        .attr_required("k", AttrValue::Kind::Int, "how many")
        .attr("dim", int64_t{-1}, "the axis")
        .attr("largest", true, "or smallest")
        .attr("sorted", true, "accepted; the result is always sorted")
        .out("values", dtype::same, shape_of)
        .out("indices", dtype::int64, shape_of)
        .flops(cost::selecting)
        .sbp(sbp::along_dim)
        .grad("indices",
              [](GradCtx& g) {
                static const Op scatter{"scatter"};
                if (!g.has_dy(0)) return;
                g.dx(0, scatter({zeros(g.in_spec(0).shape, g.dy().dtype()), g.out(1), g.dy()}, {g.attr("dim").i64()}));
              })
        .onnx("TopK");

}  // namespace hw
