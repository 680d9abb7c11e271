// scatter: elements written to positions along an axis.
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
  const AttrValue& reduce = c.attr("reduce");
  check_runtime(reduce.none() || reduce.text() == "add" || reduce.text() == "multiply",
                "reduce must be 'add' or 'multiply', got ", reduce);
  check_runtime(c.in[2].wrapped || c.in[2].dtype == c.in[0].dtype, "src is ", c.in[2].dtype, ", the input ",
                c.in[0].dtype, "; they must be alike");
  return c.in[0].shape;
}

static const RegisterOp op =
    OpDef("scatter")
        .doc(
            "Returns the input with the elements of `src` written to the positions that `index` names along `dim`. A "
            "0-d src is written everywhere. With reduce they are added or multiplied.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "as many axes as the input", index_types)
        .in("src", "0-d, or nowhere smaller than index")
        .attr_none("reduce", AttrValue::Kind::Text, "'add' or 'multiply'")
        .keyword()
        .numbers(NumberRule::Stores)
        .out("y", dtype::same, shape_of)
        .inplace()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) { add_common_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim())); })
        .grad("index",
              [](GradCtx& g) {
                static const Op gather{"gather"}, scatter{"scatter"};
                const int64_t dim = g.attr("dim").i64();
                const bool adds = !g.attr("reduce").none();
                check_runtime(!adds || g.attr("reduce").text() == "add",
                              "scatter with reduce='multiply' has no gradient; use scatter_reduce");
                if (g.needs(0)) g.dx(0, adds ? g.dy() : scatter({g.dy(), g.in(1), zeros({}, g.dy().dtype())}, {dim}));
                if (g.needs(2)) g.dx(2, grown(gather({g.dy(), g.in(1)}, {dim}), g.in_spec(2).shape));
              })
        .onnx("ScatterElements");

}  // namespace hw
