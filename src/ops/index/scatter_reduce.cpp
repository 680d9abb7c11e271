// scatter_reduce: elements combined at positions along an axis.
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
  const std::string& reduce = c.attr("reduce").text();
  check_runtime(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
                "reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got '", reduce, "'");
  check_runtime(c.in[2].dtype == c.in[0].dtype, "src is ", c.in[2].dtype, ", the input ", c.in[0].dtype,
                "; they must be alike");
  return c.in[0].shape;
}

static const Op gather_op{"gather"}, scatter_op{"scatter"}, scatter_add{"scatter_add"},
    scatter_reduce{"scatter_reduce"};

struct Parts {
  Tensor x, index, src, y, dy;
  int64_t dim;
  bool self;

  /// src as large as index.
  Tensor source() const {
    Tensor s = src;
    for (int64_t a = 0; a < s.ndim() && s.shape() != index.shape(); ++a)
      s = narrow(s, a, 0, index.shape()[static_cast<size_t>(a)]);
    return s;
  }
  Tensor at_index(const Tensor& t) const { return gather_op({t, index}, {dim}); }
  Tensor counted(const Tensor& start, const Tensor& ones) const { return scatter_add({start, index, ones}, {dim}); }
  /// Zero where the input was overwritten.
  Tensor kept(const Tensor& t) const { return self ? t : scatter_op({t, index, zeros({}, t.dtype())}, {dim}); }
};

static void mean_gradient(GradCtx& g, const Parts& p) {
  Tensor ones_src = ones(p.index.shape(), p.dy.dtype());
  Tensor count = p.counted(full(p.x.shape(), Scalar(p.self ? 1 : 0), p.dy.dtype()), ones_src);
  Tensor share = p.dy / maximum(count, number(Scalar(1)));
  g.dx(0, p.kept(share));
  g.dx(2, grown(p.at_index(share), g.in_spec(2).shape));
}

static void extreme_gradient(GradCtx& g, const Parts& p) {
  Tensor own = to(eq(p.x, p.y), p.dy.dtype()), other = to(eq(p.source(), p.at_index(p.y)), p.dy.dtype());
  own = p.kept(own);
  Tensor share = p.dy / maximum(p.counted(own, other), number(Scalar(1)));
  g.dx(0, own * share);
  g.dx(2, grown(other * p.at_index(share), g.in_spec(2).shape));
}

/// The product of the others: by division, or where the element is the only zero, by a product with it replaced by one.
static void product_gradient(GradCtx& g, const Parts& p) {
  const Tensor one = ones({}, p.x.dtype()), src = p.source();
  auto product = [&p](const Tensor& x, const Tensor& s) {
    return scatter_reduce({x, p.index, s}, {p.dim, "prod", p.self});
  };
  Tensor zero_x = eq(p.x, number(Scalar(0))), whole_x = where(zero_x, one, p.x);
  g.dx(0, p.kept(p.dy * product(whole_x, src) / whole_x));
  Tensor zero_src = eq(src, number(Scalar(0)));
  Tensor zeros_met = p.at_index(p.counted(zeros(p.x.shape(), DType::F32), to(zero_src, DType::F32)));
  Tensor only = logical_and(zero_src, eq(zeros_met, number(Scalar(1))));
  Tensor by_product = p.at_index(p.dy * product(p.x, where(only, one, src)));
  Tensor by_division = p.at_index(p.dy * p.y) / where(zero_src, one, src);
  g.dx(2, grown(where(only, by_product, by_division), g.in_spec(2).shape));
}

static void gradient(GradCtx& g) {
  const std::string& reduce = g.attr("reduce").text();
  Parts p{g.in(0), g.in(1), g.in(2), g.out(), g.dy(), g.attr("dim").i64(), g.attr("include_self").truth()};
  if (reduce == "mean") return mean_gradient(g, p);
  if (reduce == "prod") return product_gradient(g, p);
  if (reduce != "sum") return extreme_gradient(g, p);
  g.dx(0, p.kept(p.dy));
  g.dx(2, grown(p.at_index(p.dy), g.in_spec(2).shape));
}

static const RegisterOp op =
    OpDef("scatter_reduce")
        .doc(
            "Returns the input with the elements of `src` combined into the positions that `index` names along `dim`, "
            "by sum, product, mean, largest or smallest.")
        .in("input", "any shape")
        .attr_required("dim", AttrValue::Kind::Int, "the axis")
        .in("index", "as many axes as the input", index_types)
        .in("src", "nowhere smaller than index")
        .attr_required("reduce", AttrValue::Kind::Text, "'sum', 'prod', 'mean', 'amax' or 'amin'")
        .attr("include_self", true, "whether the elements of the input count too")
        .keyword()
        .out("y", dtype::same, shape_of)
        .inplace()
        .flops(cost::bandwidth_bound)
        .sbp([](SbpCtx& c) { add_common_axes(c, normalize_axis(c.attr("dim").i64(), c.in()[0].ndim())); })
        .grad("input index src y", gradient)
        .onnx("ScatterElements");

}  // namespace hw
