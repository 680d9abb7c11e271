// scatter_add: elements added at positions along an axis.
#include "base/error.h"
#include "op/cost.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/index/along_dim.h"

namespace hw {

static Dims shape_of(const InferCtx& c) {
  check_index_shape(c.in[0], c.in[1], normalize_axis(c.attr("dim").i64(), c.in[0].ndim()));
  check_source_shape(c.in[2], c.in[1]);
  check_runtime(c.in[2].wrapped || c.in[2].dtype == c.in[0].dtype, "src is ", c.in[2].dtype, ", the input ",
                c.in[0].dtype, "; they must be alike");
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("scatter_add")
        .doc("Returns the input with the elements of `src` added at the positions that `index` names along `dim`.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "as many axes as the input", index_types)
        .in("src", "nowhere smaller than index")
        .numbers(NumberRule::Wraps)
        .out("y", dtype::same, shape_of)
        .inplace()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) {
          add_common_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim()));
          c.add({partial_sum(), broadcast(), partial_sum()}, {partial_sum()});
        })
        .grad("index",
              [](GradCtx& g) {
                static const Op gather{"gather"};
                g.dx(0, g.dy());
                if (g.needs(2)) g.dx(2, grown(gather({g.dy(), g.in(1)}, {g.attr("dim").i64()}), g.in_spec(2).shape));
              })
        .onnx("ScatterElements");

}  // namespace hw
