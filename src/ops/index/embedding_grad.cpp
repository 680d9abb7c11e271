// _embedding_grad: the gradient of the table of embedding.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/table_rows.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_row_gradient(c);
  check_runtime(c.attr("rows").i64() >= 0, "rows cannot be negative, got ", c.attr("rows").i64());
  return {c.attr("rows").i64(), c.in[0].shape.back()};
}

static const RegisterOp op =
    OpDef("_embedding_grad")
        .doc("Returns [rows, features], each row the sum of those gradients whose index names it.")
        .in("dy", "[..., features]")
        .in("index", "row numbers", index_types)
        .attr_required("rows", AttrValue::Kind::Int, "rows of the table")
        .attr_required("padding_idx", AttrValue::Kind::Int, "a row that stays zero")
        .attr_required("scale_grad_by_freq", AttrValue::Kind::Bool, "divide by how often a row occurs")
        .out("dw", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[1].ndim();
          for (int64_t a = 0; a < n && !c.attr("scale_grad_by_freq").truth(); ++a)
            c.add({split(a), split(a)}, {partial_sum()});
          c.add({split(n), broadcast()}, {split(1)});
          c.add({partial_sum(), broadcast()}, {partial_sum()});
        })
        .grad("index",
              [](GradCtx& g) {
                static const Op look_up{"embedding"};
                check_twice_differentiable(g);
                give_rows(g, look_up({g.in(1), g.dy()}));
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
