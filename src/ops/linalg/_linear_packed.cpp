// _linear_packed: a linear layer by a packed weight, with a residual and an activation.
#include <algorithm>

#include "base/error.h"
#include "op/rules.h"

namespace hw {

constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static bool is_activation(const std::string& name) {
  for (const char* known : {"none", "relu", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu"})
    if (name == known) return true;
  return false;
}

static Dims linear_packed_shape(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &packed = c.in[1], &bias = c.in[2], &residual = c.in[3];
  const int64_t features = c.attr("out_features").i64();
  check_runtime(x.ndim() >= 1, "input must have at least one axis");
  check_runtime(features >= 0, "out_features must not be negative, got ", features);
  const int64_t width = packed.ndim() == 3 ? std::max<int64_t>(1, packed.shape[2]) : 1;
  const Dims expected{(features + width - 1) / width, x.shape.back(), width};
  check_runtime(packed.shape == expected, "packed is ", packed.shape, ", an input ", x.shape, " to ", features,
                " features needs ", expected);
  check_runtime(!bias.given() || bias.shape == Dims{features}, "bias ", bias.shape, " does not fit ", features,
                " features");
  check_runtime(is_activation(c.attr("activation").text()), "no activation is called \"", c.attr("activation").text(),
                "\": none, relu, gelu, gelu_tanh, tanh, sigmoid or silu");
  Dims out = x.shape;
  out.back() = features;
  check_runtime(!residual.given() || residual.shape == out, "residual is ", residual.shape, ", the result ", out);
  return out;
}

static void linear_packed_sbp(SbpCtx& c) {
  for (int64_t axis = 0; axis + 1 < c.in()[0].ndim(); ++axis)
    c.add({split(axis), broadcast(), broadcast(), c.in()[3].given() ? split(axis) : broadcast()}, {split(axis)});
}

static const RegisterOp op =
    OpDef("_linear_packed")
        .doc(
            "activation(linear(input, weight, bias) + residual) for a weight that _pack_linear_weight packed. The "
            "products of a row are summed in the order of the columns, in parts of at most 256 where there are more "
            "than 4 rows.")
        .in("input", "[..., in_features]", f32_only)
        .in("packed", "what _pack_linear_weight made of the weight", f32_only)
        .in_optional("bias", "[out_features]", f32_only)
        .in_optional("residual", "[..., out_features]", f32_only)
        .attr_required("out_features", AttrValue::Kind::Int, "features of the output")
        .attr("activation", "none", "none, relu, gelu, gelu_tanh, tanh, sigmoid or silu")
        .out("y", dtype::same, linear_packed_shape)
        .internal()
        .sbp(linear_packed_sbp)
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.attr("out_features").i64());
        })
        .no_grad("for inference; linear has the gradient")
        .no_onnx("a plan's own form of Gemm");

}  // namespace hw
