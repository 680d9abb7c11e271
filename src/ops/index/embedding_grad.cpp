// _embedding_grad: the gradient of the table of embedding.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  const Dims& dy = c.in[0].shape;
  check_runtime(
      dy.size() == c.in[1].shape.size() + 1 && std::equal(c.in[1].shape.begin(), c.in[1].shape.end(), dy.begin()),
      "dy is ", c.in[0], ", index ", c.in[1], ": dy must have one axis more");
  check_runtime(c.attr("rows").i64() >= 0, "rows cannot be negative, got ", c.attr("rows").i64());
  return {c.attr("rows").i64(), dy.back()};
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
                check_runtime(!g.attr("scale_grad_by_freq").truth(),
                              "embedding with scale_grad_by_freq has no second derivative");
                Tensor rows = look_up({g.in(1), g.dy()});
                const int64_t padding = g.attr("padding_idx").i64();
                if (padding >= 0)
                  rows = where(unsqueeze(eq(g.in(1), number(Scalar(padding))), -1), zeros({}, rows.dtype()), rows);
                g.dx(0, rows);
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
