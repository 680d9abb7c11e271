// embedding: rows of a table.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "op/split_form.h"
#include "ops/index/table_rows.h"

namespace hw {

/// A table that is split by rows stays where it is: each rank looks up what it has, and what they found is added.
static Tensors by_rows(std::span<const Tensor> in, const Attrs& attrs, std::span<const Placement* const> places) {
  static const Op part{"_embedding_part"};
  if (!splits(places[1], 0) || !is_floating(in[1].dtype())) return {};
  return {part({in[0], in[1]}, {attrs[0], attrs[1], in[1].size(0)})};
}

static const RegisterSplitForm split_form{"embedding", &by_rows};

static const RegisterOp op =
    OpDef("embedding")
        .doc(
            "Returns the rows of `weight` that the input names, along a new last axis. The row padding_idx gets no "
            "gradient.")
        .in("input", "row numbers", index_types)
        .in("weight", "[rows, features]")
        .attr("padding_idx", int64_t{-1}, "a row without gradient; -1: none")
        .attr("scale_grad_by_freq", false, "divide gradients by how often a row occurs")
        .attr("sparse", false, "accepted; gradients are dense")
        .out(
            "y", [](const InferCtx& c) { return c.in[1].dtype; }, rows_shape)
        .method(false)
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[0].ndim();
          for (int64_t a = 0; a < n; ++a) c.add({split(a), broadcast()}, {split(a)});
          c.add({broadcast(), split(1)}, {split(n)});
          c.add({broadcast(), partial_sum()}, {partial_sum()});
        })
        .grad("input",
              [](GradCtx& g) {
                static const Op back{"_embedding_grad"};
                if (g.needs(1))
                  g.dx(1, back({g.dy(), g.in(0)}, {g.in_spec(1).shape[0], g.attr("padding_idx").i64(),
                                                   g.attr("scale_grad_by_freq").truth()}));
              })
        .onnx("Gather");

}  // namespace hw
