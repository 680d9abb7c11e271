// index_copy: whole slices written along an axis.
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/along_dim.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_rows(c.in[0], c.in[1], c.in[2], normalize_axis(c.attr("dim").i64(), c.in[0].ndim()));
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("index_copy")
        .doc("Returns the input with the slices of `source` written to the positions `index` along `dim`.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "0-d or 1-d", index_types)
        .in("source", "the input's shape, but along dim one slice for each index")
        .out("y", dtype::same, shape_of)
        .inplace()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          const int64_t n = c.in()[0].ndim(), axis = normalize_axis(c.attr("dim").i64(), n);
          for (int64_t a = 0; a < n; ++a)
            if (a != axis) c.add({split(a), broadcast(), c.in()[2].ndim() ? split(a) : broadcast()}, {split(a)});
        })
        .grad("index",
              [](GradCtx& g) {
                static const Op select{"index_select"}, fill{"index_fill"};
                if (g.needs(0)) g.dx(0, fill({g.dy(), g.in(1), zeros({}, g.dy().dtype())}, {g.attr("dim").i64()}));
                if (g.needs(2)) g.dx(2, reshape(select({g.dy(), g.in(1)}, {g.attr("dim").i64()}), g.in_spec(2).shape));
              })
        .onnx("ScatterElements");

}  // namespace hw
