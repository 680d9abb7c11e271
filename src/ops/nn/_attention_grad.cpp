// _attention_grad: the gradients of _attention for query, key and value.
#include <limits>

#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/nn/attention_layout.h"

namespace hw {

static std::vector<TensorSpec> attention_grad_infer(const InferCtx& c) {
  std::vector<TensorSpec> out(3);
  for (size_t i = 0; i < 3; ++i) out[i] = laid_out_as(c.in[i + 1], c.in[i + 1].dtype, c.in[i + 1].shape);
  check_runtime(c.in[0].shape == c.in[4].shape, "dy ", c.in[0].shape, " does not have the shape of y, ", c.in[4].shape);
  return out;
}

static void attention_grad_sbp(SbpCtx& c) {
  for (int64_t axis = 0; axis < 2; ++axis) {
    if (axis == 1 && c.in()[1].shape[1] != c.in()[2].shape[1]) continue;
    std::vector<Sbp> in(7, split(axis));
    if (!c.in()[6].given()) in[6] = broadcast();
    c.add(std::move(in), std::vector<Sbp>(3, split(axis)));
  }
}

/// Key or value heads repeated for the query heads that share them.
static Tensor repeated(const Tensor& x, int64_t heads) {
  if (x.size(1) == heads) return x;
  int64_t group = heads / x.size(1);
  Dims wide{x.size(0), x.size(1), group, x.size(2), x.size(3)};
  return reshape(expand(unsqueeze(x, 2), wide), {x.size(0), heads, x.size(2), x.size(3)});
}

static Tensor summed(const Tensor& x, int64_t heads) {
  if (x.size(1) == heads) return x;
  return sum(reshape(x, {x.size(0), heads, x.size(1) / heads, x.size(2), x.size(3)}), {2});
}

/// The probabilities, with all scores in memory: second order is rare enough.
static Tensor probabilities(const GradCtx& g, const Tensor& q, const Tensor& k, double scale) {
  static const Op softmax{"softmax"};
  Tensor scores = matmul(q, mT(k)) * Scalar(scale);
  const double hidden = -std::numeric_limits<double>::infinity();
  if (const Tensor& mask = g.in(6); mask.defined())
    scores = mask.dtype() == DType::Bool ? where(mask, scores, number(Scalar(hidden))) : scores + mask;
  if (g.attr("is_causal").truth()) {
    static const Op tril{"tril"};
    Tensor seen = tril({ones({q.size(2), k.size(2)}, DType::Bool)});
    scores = where(seen, scores, number(Scalar(hidden)));
  }
  return softmax({scores}, {int64_t{-1}});
}

/// With S = scale q k^T, P = softmax(S), X = dy v^T, D = rowsum(P X): dq = scale dS k, dk = scale dS^T q, dv = P^T dy where
/// dS = P (X - D). For a, b, c that flow into dq, dk, dv: M = scale (a k^T + q b^T), N = dy c^T, m = rowsum(P M), and
/// the sum <a, dq> + <b, dk> + <c, dv> = <dS, M> + <P, N> is differentiated below.
static void attention_grad_grad(GradCtx& g) {
  double scale = g.attr("scale").f64();
  int64_t heads = g.in(1).size(1), key_heads = g.in(2).size(1);
  const Tensor &dy = g.in(0), &q = g.in(1);
  Tensor k = repeated(g.in(2), heads), v = repeated(g.in(3), heads);
  Tensor a = g.dy(0), b = repeated(g.dy(1), heads), c = repeated(g.dy(2), heads);
  Tensor p = probabilities(g, q, k, scale);
  Tensor x = matmul(dy, mT(v)), mean = sum(p * x, {-1}, true), ds = p * (x - mean);
  Tensor m = (matmul(a, mT(k)) + matmul(q, mT(b))) * Scalar(scale), n = matmul(dy, mT(c));
  Tensor centred = m - sum(p * m, {-1}, true);
  Tensor dx = p * centred, dp = x * centred - mean * m + n;
  Tensor z = p * (dp - sum(p * dp, {-1}, true));
  if (g.needs(0)) g.dx(0, matmul(dx, v) + matmul(p, c));
  if (g.needs(1)) g.dx(1, (matmul(z, k) + matmul(ds, b)) * Scalar(scale));
  if (g.needs(2)) g.dx(2, summed((matmul(mT(z), q) + matmul(mT(ds), a)) * Scalar(scale), key_heads));
  if (g.needs(3)) g.dx(3, summed(matmul(mT(dx), dy), key_heads));
}

/// Five products: the scores again, the gradients of the probabilities, of query, key and value.
static double attention_grad_flops(const InferCtx& c) {
  const Dims &q = c.in[1].shape, &v = c.in[3].shape;
  const double scores = static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2] * v[2]);
  return 2 * scores * static_cast<double>(3 * q[3] + 2 * v[3]) * (c.attr("is_causal").truth() ? 0.5 : 1.0);
}

static const RegisterOp op =
    OpDef("_attention_grad")
        .doc("The gradients of _attention for query, key and value; its results y and lse are taken as known.")
        .in("dy", "the shape of y", floating)
        .in("query", "[batch, heads, rows, width]", floating)
        .in("key", "[batch, key_heads, columns, width]", floating)
        .in("value", "[batch, key_heads, columns, value_width]", floating)
        .in("y", "[batch, heads, rows, value_width]", floating)
        .in("lse", "[batch, heads, rows]", floating)
        .in_optional("mask", "[batch, heads, rows, columns]", boolean | floating)
        .attr("is_causal", false)
        .attr("scale", 1.0)
        .out("dq")
        .out("dk")
        .out("dv")
        .infer(attention_grad_infer)
        .internal()
        .flops(attention_grad_flops)
        .sbp(attention_grad_sbp)
        .grad("dy query key value mask", attention_grad_grad)
        .no_onnx("a gradient");

}  // namespace hw
