// index_fill: whole slices set to a value.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/along_dim.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  normalize_axis(c.attr("dim").i64(), c.in[0].ndim());
  index_count(c.in[1]);
  check_runtime(c.in[2].ndim() == 0, "value must be a number or a 0-d tensor, got ", c.in[2]);
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("index_fill")
        .doc(
            "Returns the input with the slices at the positions `index` along `dim` set to `value`, which must fit its "
            "dtype; fractions are cut off.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "0-d or 1-d", index_types)
        .in("value", "a number or a 0-d tensor")
        .numbers(NumberRule::Stores)
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
                static const Op fill{"index_fill"};
                Tensor rest = fill({g.dy(), g.in(1), zeros({}, g.dy().dtype())}, {g.attr("dim").i64()});
                g.dx(0, rest);
                if (g.needs(2)) g.dx(2, sum(g.dy() - rest));
              })
        .onnx("ScatterElements");

}  // namespace hw
