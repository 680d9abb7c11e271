// index_select: whole slices picked along an axis.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/along_dim.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const int64_t axis = normalize_axis(c.attr("dim").i64(), c.in[0].ndim()), n = index_count(c.in[1]);
  Dims shape = c.in[0].shape;
  if (shape.empty()) {
    check_index(n == 1, "a 0-d input takes one index, got ", n);
    return shape;
  }
  shape[static_cast<size_t>(axis)] = n;
  return shape;
}

static const RegisterOp op =
    OpDef("index_select")
        .doc("Returns the slices of the input along `dim` that `index` names.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "0-d or 1-d", index_types)
        .out("y", dtype::same, shape_of)
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[0].ndim(), axis = normalize_axis(c.attr("dim").i64(), n);
          for (int64_t a = 0; a < n; ++a)
            if (a != axis) c.add({split(a), broadcast()}, {split(a)});
          if (n > 0 && c.in()[1].ndim() == 1) c.add({broadcast(), split(0)}, {split(axis)});
          c.add({partial_sum(), broadcast()}, {partial_sum()});
        })
        .grad("index",
              [](GradCtx& g) {
                static const Op add{"index_add"};
                Tensor dy = g.dy();
                g.dx(0, add({zeros(g.in_spec(0).shape, dy.dtype()), g.in(1), dy}, {g.attr("dim").i64()}));
              })
        .onnx("Gather");

}  // namespace hw
