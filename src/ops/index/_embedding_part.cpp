// _embedding_part: rows of a table of which only some rows are here; the others are zero.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"
#include "ops/index/table_rows.h"

namespace hw {

static void set_first_row(std::span<const Box> in, std::span<const Box>, Attrs& attrs) { attrs[3] = in[1][0].begin; }
static const RegisterSplitForm rank_attrs{"_embedding_part", &set_first_row};

static const RegisterOp op =
    OpDef("_embedding_part")
        .doc(
            "As embedding, where `weight` holds rows first, first + 1, ... of a table of `rows` rows: others are zero.")
        .in("input", "row numbers", index_types)
        .in("weight", "[some rows, features]", floating)
        .attr("padding_idx", int64_t{-1}, "a row without gradient; -1: none")
        .attr("scale_grad_by_freq", false, "divide gradients by how often a row occurs")
        .attr_required("rows", AttrValue::Kind::Int, "of the whole table")
        .attr("first", int64_t{0}, "the number of the first row of weight")
        .out(
            "y", [](const InferCtx& c) { return c.in[1].dtype; }, rows_shape)
        .internal()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[0].ndim();
          for (int64_t a = 0; a < n; ++a) c.add({split(a), broadcast()}, {split(a)});
          c.add({broadcast(), split(1)}, {split(n)});
          c.add({broadcast(), split(0)}, {partial_sum()});
        })
        .grad("input weight",
              [](GradCtx& g) {
                static const Op back{"_embedding_part_grad"};
                if (g.needs(1))
                  g.dx(1, back({g.dy(), g.in(0), g.in(1)},
                               {g.attr("padding_idx"), g.attr("scale_grad_by_freq"), g.attr("rows"), g.attr("first")}));
              })
        .no_onnx("made where a table is split over ranks");

}  // namespace hw
