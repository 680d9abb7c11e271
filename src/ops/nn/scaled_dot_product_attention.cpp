// scaled_dot_product_attention: softmax(scale q k^T + mask) v.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "op/math.h"

namespace hw {
namespace {

/// Leading axes of x brought to `batch` and flattened so that 4 axes remain.
Tensor as_four(const Tensor& x, const Dims& batch) {
  Dims shape = batch;
  shape.push_back(x.size(-2)), shape.push_back(x.size(-1));
  Tensor wide = x.shape() == shape ? x : expand(x, shape);
  if (wide.ndim() == 4) return wide;
  if (wide.ndim() == 3) return unsqueeze(wide, 0);
  if (wide.ndim() == 2) return unsqueeze(unsqueeze(wide, 0), 0);
  return reshape(wide, {numel(batch), 1, x.size(-2), x.size(-1)});
}

Dims leading(const Tensor& x) { return Dims(std::span<const int64_t>(x.shape().data(), x.shape().size() - 2)); }

struct Options {
  double dropout, scale;
  bool causal;
};

/// With all scores in memory: for dropout.
Tensor plain(const Tensor& q, Tensor k, Tensor v, const Tensor& mask, const Options& o) {
  static const Op softmax{"softmax"}, dropout{"dropout"}, tril{"tril"};
  if (int64_t group = q.size(1) / k.size(1); group > 1) {
    auto repeat = [&](const Tensor& x) {
      Dims wide{x.size(0), x.size(1), group, x.size(2), x.size(3)};
      return reshape(expand(unsqueeze(x, 2), wide), {x.size(0), q.size(1), x.size(2), x.size(3)});
    };
    k = repeat(k), v = repeat(v);
  }
  const Tensor hidden = number(Scalar(-std::numeric_limits<double>::infinity()));
  Tensor scores = matmul(q * Scalar(o.scale), mT(k));
  if (mask.defined()) scores = mask.dtype() == DType::Bool ? where(mask, scores, hidden) : scores + mask;
  if (o.causal) scores = where(tril({ones({q.size(2), k.size(2)}, DType::Bool)}), scores, hidden);
  Tensor p = softmax({scores}, {int64_t{-1}});
  return matmul(o.dropout > 0 ? dropout({p}, {o.dropout, true}) : p, v);
}

void check_arguments(std::span<const Tensor> in, const Attrs& attrs) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &mask = in[3];
  check_runtime(q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2, "query, key and value need at least 2 axes, got ",
                q.shape(), ", ", k.shape(), " and ", v.shape());
  check_runtime(q.dtype() == k.dtype() && q.dtype() == v.dtype(), "query, key and value must have the same dtype, got ",
                q.dtype(), ", ", k.dtype(), " and ", v.dtype());
  check_runtime(q.size(-1) == k.size(-1), "query has width ", q.size(-1), ", key ", k.size(-1));
  check_runtime(k.size(-2) == v.size(-2), "key has ", k.size(-2), " rows, value ", v.size(-2));
  if (mask.defined())
    check_runtime(mask.dtype() == DType::Bool || mask.dtype() == q.dtype(), "attn_mask must be bool or ", q.dtype(),
                  ", got ", mask.dtype());
  check_runtime(!mask.defined() || !attrs[1].truth(),
                "attn_mask and is_causal exclude each other; put the triangle into the mask");
  check_runtime(attrs[0].f64() >= 0 && attrs[0].f64() <= 1, "dropout_p must be in [0, 1], got ", attrs[0].f64());
}

Tensors body(std::span<const Tensor> in, const Attrs& attrs) {
  static const Op attention{"_attention"};
  check_arguments(in, attrs);
  bool gqa = attrs[3].truth();
  double width = static_cast<double>(in[0].size(-1));
  Options o{attrs[0].f64(), attrs[2].none() ? 1 / std::sqrt(width) : attrs[2].f64(), attrs[1].truth()};
  Dims batch;
  Tensor q, k, v;
  if (gqa) {
    check_runtime(in[0].ndim() == 4 && in[1].ndim() == 4 && in[2].ndim() == 4 && in[1].size(1) > 0 &&
                      in[0].size(1) % in[1].size(1) == 0 && in[1].size(1) == in[2].size(1),
                  "with enable_gqa the query heads must be a multiple of the key heads, got ", in[0].shape(), " and ",
                  in[1].shape());
    batch = leading(in[0]);
    q = in[0], k = in[1], v = in[2];
  } else {
    batch = broadcast_shapes(broadcast_shapes(leading(in[0]), leading(in[1])), leading(in[2]));
    q = as_four(in[0], batch), k = as_four(in[1], batch), v = as_four(in[2], batch);
  }
  Tensor mask = in[3];
  if (mask.defined()) {
    Dims scores = batch;
    scores.push_back(q.size(2)), scores.push_back(k.size(2));
    check_runtime(broadcast_shapes(mask.shape(), scores) == scores, "attn_mask ", mask.shape(),
                  " does not broadcast to the scores ", scores);
    Tensor wide = mask.ndim() >= 2 ? mask : expand(mask, {q.size(2), k.size(2)});
    if (wide.size(-2) != q.size(2) || wide.size(-1) != k.size(2)) {
      Dims grown = leading(wide);
      grown.push_back(q.size(2)), grown.push_back(k.size(2));
      wide = expand(wide, grown);
    }
    mask = as_four(wide, batch);
  }
  bool mask_grad = mask.defined() && is_floating(mask.dtype()) && in[3]->autograd != nullptr;
  Tensor y =
      o.dropout > 0 || mask_grad ? plain(q, k, v, mask, o) : attention.all({q, k, v, mask}, {o.causal, o.scale})[0];
  Dims shape = batch;
  shape.push_back(q.size(2)), shape.push_back(v.size(3));
  return {y.shape() == shape ? y : reshape(y, shape)};
}

const RegisterOp op =
    OpDef("scaled_dot_product_attention")
        .doc(
            "Returns softmax(scale * query @ key^T + mask) @ value over the last two axes. The scores are not kept, so "
            "memory grows with the "
            "length of the sequence. A row that sees no key is zero.")
        .in("query", "[..., rows, width]", floating)
        .in("key", "[..., columns, width]", floating)
        .in("value", "[..., columns, value_width]", floating)
        .in_optional("attn_mask",
                     "broadcasts to [..., rows, columns]: False hides a column; numbers are added to the scores",
                     boolean | floating)
        .attr("dropout_p", 0.0, "probability with which a weight becomes zero")
        .attr("is_causal", false, "whether row i sees columns up to i only")
        .attr_none("scale", AttrValue::Kind::Float, "factor of the scores; None: 1 / sqrt(width)")
        .keyword()
        .attr("enable_gqa", false, "whether several query heads share a key head")
        .out("y")
        .method(false)
        .autocast(Autocast::Lower)
        .composite(body);

}  // namespace
}  // namespace hw
