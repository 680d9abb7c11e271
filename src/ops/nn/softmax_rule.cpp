// Rules that the softmax family shares; see the header.
#include "ops/nn/softmax_rule.h"

#include "base/error.h"
#include "op/rules.h"

namespace hw {

DType softmax_dtype(const InferCtx& c) {
  DType d = dtype::given_or_same(c);
  check_runtime(is_floating(d), "needs a floating dtype, got ", d, ". Give dtype=, or convert with .to().");
  return d;
}

Dims softmax_shape(const InferCtx& c) {
  normalize_axis(c.attr("dim").i64(), c.in[0].ndim());
  return c.in[0].shape;
}

}  // namespace hw
