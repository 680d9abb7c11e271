// _embedding_part_grad: the gradient of the rows of a table that are here.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"
#include "ops/index/table_rows.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_row_gradient(c);
  check_runtime(c.in[2].ndim() == 2 && c.in[2].shape[1] == c.in[0].shape.back(), "dy is ", c.in[0], " for a table ",
                c.in[2]);
  return c.in[2].shape;
}

static void set_first_row(std::span<const Box> in, std::span<const Box>, Attrs& attrs) { attrs[3] = in[2][0].begin; }
static const RegisterSplitForm rank_attrs{"_embedding_part_grad", &set_first_row};

static const RegisterOp op =
    OpDef("_embedding_part_grad")
        .doc("As weight, each row the sum of those gradients whose index names it; weight begins with row `first`.")
        .in("dy", "[..., features]", floating)
        .in("index", "row numbers of the whole table", index_types)
        .in("weight", "[some rows, features]: says which rows are here, its values are not read", floating)
        .attr("padding_idx", int64_t{-1}, "a row that stays zero")
        .attr("scale_grad_by_freq", false, "divide by how often a row occurs")
        .attr_required("rows", AttrValue::Kind::Int, "of the whole table")
        .attr("first", int64_t{0}, "the number of the first row of weight")
        .out("dw", dtype::same, shape_of)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[1].ndim();
          c.add({broadcast(), broadcast(), split(0)}, {split(0)});
          for (int64_t a = 0; a < n && !c.attr("scale_grad_by_freq").truth(); ++a)
            c.add({split(a), split(a), broadcast()}, {partial_sum()});
          c.add({split(n), broadcast(), split(1)}, {split(1)});
        })
        .grad("index",
              [](GradCtx& g) {
                static const Op look_up{"_embedding_part"};
                check_twice_differentiable(g);
                if (!g.needs(0)) return;
                give_rows(g, look_up({g.in(1), g.dy()}, {int64_t{-1}, false, g.attr("rows"), g.attr("first")}));
              })
        .no_onnx("gradients are not exported");

}  // namespace hw
