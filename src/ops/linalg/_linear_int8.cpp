// _linear_int8: a linear layer in integers, scaled to floats or quantised anew.
#include <algorithm>

#include "base/error.h"
#include "op/rules.h"

namespace hw {

static constexpr DTypeSet bytes = dtype_bit(DType::U8) | dtype_bit(DType::I8);
static constexpr DTypeSet f32_only = dtype_bit(DType::F32);

static Dims linear_int8_shape(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &packed = c.in[1], &scale = c.in[2], &offset = c.in[3];
  const TensorSpec &out_scale = c.in[4], &out_zero = c.in[5];
  const int64_t features = c.attr("out_features").i64();
  const std::string& activation = c.attr("activation").text();
  check_runtime(x.ndim() >= 1, "input must have at least one axis");
  check_runtime(features >= 0, "out_features must not be negative, got ", features);
  const int64_t width = packed.ndim() == 4 ? std::max<int64_t>(1, packed.shape[2]) : 1;
  const Dims expected{(features + width - 1) / width, (x.shape.back() + 1) / 2, width, 2};
  check_runtime(packed.shape == expected, "packed is ", packed.shape, ", an input ", x.shape, " to ", features,
                " features needs ", expected);
  check_runtime(scale.shape == Dims{features}, "scale ", scale.shape, " does not fit ", features, " features");
  check_runtime(!offset.given() || offset.shape == Dims{features}, "offset ", offset.shape, " does not fit ", features,
                " features");
  check_runtime(activation == "none" || activation == "relu", "activation is none or relu, got \"", activation, "\"");
  check_runtime(!out_scale.given() || out_scale.numel() == 1, "out_scale must be one number, got ", out_scale.shape);
  check_runtime(!out_zero.given() || (out_zero.numel() == 1 && out_scale.given()),
                "out_zero must be one number beside out_scale, got ", out_zero.shape);
  Dims out = x.shape;
  out.back() = features;
  return out;
}

/// f32, or the dtype of out_zero (uint8 without it) where the result is quantised.
static DType linear_int8_dtype(const InferCtx& c) {
  if (!c.in[4].given()) return DType::F32;
  return c.in[5].given() ? c.in[5].dtype : DType::U8;
}

static void linear_int8_sbp(SbpCtx& c) {
  for (int64_t axis = 0; axis + 1 < c.in()[0].ndim(); ++axis)
    c.add({split(axis), broadcast(), broadcast(), broadcast(), broadcast(), broadcast()}, {split(axis)});
}

static const RegisterOp op =
    OpDef("_linear_int8")
        .doc(
            "activation(scale * (input W^T) + offset), where input W^T is a sum of products of integers, exact in "
            "int32 up to 66,000 "
            "input features. With out_scale the result is divided by it, rounded to even, moved by out_zero and "
            "saturated.")
        .in("input", "[..., in_features]", bytes)
        .in("packed", "what _pack_int8_weight made of the weight W", dtype_bit(DType::I8))
        .in("scale", "[out_features]: scale of the input times scale of the weight's row", f32_only)
        .in_optional("offset", "[out_features]: the bias, less what the input's zero point adds", f32_only)
        .in_optional("out_scale", "one number: the result is quantised by it", f32_only)
        .in_optional("out_zero", "one number: its zero point, of the result's dtype", bytes)
        .attr_required("out_features", AttrValue::Kind::Int, "features of the output")
        .attr("activation", "none", "none or relu")
        .out("y", linear_int8_dtype, linear_int8_shape)
        .internal()
        .sbp(linear_int8_sbp)
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[0].numel()) * static_cast<double>(c.attr("out_features").i64());
        })
        .no_grad("for inference; fake_quantize has a gradient")
        .no_onnx("a plan's own form of QLinearMatMul");

}  // namespace hw
