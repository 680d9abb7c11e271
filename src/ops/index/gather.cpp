// gather: elements picked along an axis.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/along_dim.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_index_shape(c.in[0], c.in[1], normalize_axis(c.attr("dim").i64(), c.in[0].ndim()));
  return c.in[1].shape;
}

static const RegisterOp op =
    OpDef("gather")
        .doc(
            "Returns, for each position of `index`, the element of the input at the same position except along `dim`, "
            "where index says which.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "as many axes as the input", index_types)
        .attr("sparse_grad", false, "accepted; gradients are dense")
        .keyword()
        .out("y", dtype::same, shape_of)
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          add_common_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim()));
          c.add({partial_sum(), broadcast()}, {partial_sum()});
        })
        .grad("index",
              [](GradCtx& g) {
                static const Op add{"scatter_add"};
                g.dx(0, add({zeros(g.in_spec(0).shape, g.dy().dtype()), g.in(1), g.dy()}, {g.attr("dim").i64()}));
              })
        .onnx("GatherElements");

}  // namespace hw
