// _attention: softmax(scale q k^T + mask) v, and the log of the softmax's sums.
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/rules.h"
#include "ops/nn/attention_layout.h"

namespace hw {

static const Op attention_grad{"_attention_grad"};

static std::vector<TensorSpec> attention_infer(const InferCtx& c) {
  const TensorSpec &q = c.in[0], &k = c.in[1], &v = c.in[2], &mask = c.in[3];
  check_runtime(q.ndim() == 4 && k.ndim() == 4 && v.ndim() == 4,
                "query, key and value need 4 axes [batch, heads, length, width], got ", q.shape, ", ", k.shape, " and ",
                v.shape);
  check_runtime(q.dtype == k.dtype && q.dtype == v.dtype, "query, key and value must have the same dtype, got ",
                q.dtype, ", ", k.dtype, " and ", v.dtype);
  check_runtime(q.shape[0] == k.shape[0] && k.shape[0] == v.shape[0] && k.shape[1] == v.shape[1] &&
                    k.shape[2] == v.shape[2] && q.shape[3] == k.shape[3],
                "query ", q.shape, ", key ", k.shape, " and value ", v.shape, " do not fit together");
  check_runtime(k.shape[1] > 0 ? q.shape[1] % k.shape[1] == 0 : q.shape[1] == 0, q.shape[1],
                " query heads do not divide among ", k.shape[1], " key heads");
  Dims scores{q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
  check_runtime(!mask.given() || mask.shape == scores, "the mask ", mask.shape, " must have the shape of the scores ",
                scores);
  TensorSpec y, lse;
  y = laid_out_as(q, q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  lse.dtype = q.dtype == DType::F64 ? DType::F64 : DType::F32, lse.shape = {q.shape[0], q.shape[1], q.shape[2]};
  return {y, lse};
}

static void attention_sbp(SbpCtx& c) {
  Sbp mask_batch = c.in()[3].given() ? split(0) : broadcast(), mask_head = c.in()[3].given() ? split(1) : broadcast();
  c.add({split(0), split(0), split(0), mask_batch}, {split(0), split(0)});
  if (c.in()[0].shape[1] == c.in()[1].shape[1]) c.add({split(1), split(1), split(1), mask_head}, {split(1), split(1)});
}

static double attention_flops(const InferCtx& c) {
  const Dims &q = c.in[0].shape, &v = c.in[2].shape;
  double scores = static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2] * v[2]);
  return 2 * scores * static_cast<double>(q[3] + v[3]) * (c.attr("is_causal").truth() ? 0.5 : 1.0);
}

static const RegisterOp op =
    OpDef("_attention")
        .doc(
            "Returns softmax(scale * query @ key^T + mask) @ value and the log of the softmax's sums, without keeping "
            "the scores.")
        .in("query", "[batch, heads, rows, width]", floating)
        .in("key", "[batch, key_heads, columns, width]", floating)
        .in("value", "[batch, key_heads, columns, value_width]", floating)
        .in_optional("mask", "[batch, heads, rows, columns]: False or -inf hides a column", boolean | floating)
        .attr("is_causal", false, "whether row i sees columns up to i only")
        .attr("scale", 1.0, "factor of the scores")
        .attr("nan_rows", false, "whether a row that sees no column becomes NaN, as softmax has it, instead of zero")
        .out("y")
        .out("lse")
        .infer(attention_infer)
        .internal()
        .autocast(Autocast::Lower)
        .sbp(attention_sbp)
        .flops(attention_flops)
        .grad("query key value mask y lse",
              [](GradCtx& g) {
                Tensors d = attention_grad.all({g.dy(), g.in(0), g.in(1), g.in(2), g.out(0), g.out(1), g.in(3)},
                                               {g.attrs()[0], g.attrs()[1]});
                for (size_t i = 0; i < 3; ++i) g.dx(i, d[i]);
              })
        .onnx("Attention");

}  // namespace hw
