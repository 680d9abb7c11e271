// bilinear: x1 W x2 + b for each output feature.
#include "base/error.h"
#include "op/math.h"

namespace hw {

static Tensors bilinear_body(std::span<const Tensor> in, const Attrs&) {
  static const Op linear{"linear"};
  const Tensor &x1 = in[0], &x2 = in[1], &w = in[2], &bias = in[3];
  check_runtime(w.ndim() == 3, "weight must be [out_features, in1_features, in2_features], got ", w.shape());
  check_runtime(x1.ndim() >= 1 && x2.ndim() == x1.ndim() && x1.size(-1) == w.size(1) && x2.size(-1) == w.size(2),
                "inputs ", x1.shape(), " and ", x2.shape(), " do not fit weight ", w.shape());
  Tensor inner = linear({x2, reshape(w, {w.size(0) * w.size(1), w.size(2)}), Tensor()});
  Dims shape = x1.shape();
  shape.back() = w.size(0), shape.push_back(w.size(1));
  Tensor y = sum(reshape(inner, shape) * unsqueeze(x1, -2), {-1});
  return {bias.defined() ? y + bias : y};
}

static const RegisterOp op =
    OpDef("bilinear")
        .doc("Returns the bilinear form input1 @ weight[o] @ input2 for each output feature o, plus bias.")
        .in("input1", "[..., in1_features]", floating)
        .in("input2", "[..., in2_features]", floating)
        .in("weight", "[out_features, in1_features, in2_features]", floating)
        .in_optional("bias", "[out_features]", floating)
        .out("y")
        .method(false)
        .composite(bilinear_body);

}  // namespace hw
