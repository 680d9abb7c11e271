// Checks and rules that the quantising operators share.
#include "ops/quantization/steps.h"

#include <limits>

#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

int64_t steps_axis(const InferCtx& c) {
  const TensorSpec &x = c.in[0], &scale = c.in[1], &zero = c.in[2];
  check_runtime(!zero.given() || zero.shape == scale.shape || (zero.numel() == 1 && scale.numel() == 1),
                "zero_point has shape ", zero.shape, ", scale has shape ", scale.shape, ". Give one for each scale.");
  const AttrValue& axis = c.attr("axis");
  if (axis.none()) {
    check_runtime(
        scale.numel() == 1 && scale.ndim() <= 1, "scale has shape ", scale.shape,
        ", but axis is None, which takes one scale for all elements. Name the axis that has one scale per index.");
    return -1;
  }
  const int64_t a = normalize_axis(axis.i64(), x.ndim());
  check_runtime(x.ndim() > 0, "a 0-d input has no axis ", axis.i64(), ". Leave axis out.");
  check_runtime(scale.shape == Dims{x.shape[static_cast<size_t>(a)]}, "scale has shape ", scale.shape, ", but axis ", a,
                " of the input has ", x.shape[static_cast<size_t>(a)], " indices. Give one scale per index.");
  return a;
}

void steps_sbp(SbpCtx& c) {
  const TensorSpec &x = c.in()[0], &scale = c.in()[1];
  const AttrValue& axis = c.attr("axis");
  const int64_t own = axis.none() || scale.ndim() == 0 ? -1 : normalize_axis(axis.i64(), x.ndim());
  for (int64_t a = 0; a < x.ndim(); ++a) {
    const Sbp steps = a == own ? split(0) : broadcast();
    c.add({split(a), steps, c.in()[2].given() ? steps : broadcast()}, {split(a)});
  }
}

IntegerRange integer_range(DType dtype) {
  switch (dtype) {
    case DType::U8: return {0, 255};
    case DType::I8: return {-128, 127};
    case DType::I16: return {-32768, 32767};
    case DType::I32: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default: break;
  }
  check_type(false, "dtype must be uint8, int8, int16 or int32, got ", dtype);
  return {};
}

void check_range(int64_t low, int64_t high) {
  check(low < high, "quant_min must be below quant_max, got ", low, " and ", high);
}

TensorSpec like_input(const TensorSpec& x, DType dtype) {
  TensorSpec y;
  y.dtype = dtype;
  y.shape = x.shape;
  if (x.strides.size() != x.shape.size() || x.numel() == 0 || !is_non_overlapping(x.shape, x.strides)) return y;
  int64_t reach = 1;
  for (size_t a = 0; a < x.shape.size(); ++a) reach += (x.shape[a] - 1) * x.strides[a];
  if (reach == x.numel()) y.strides = x.strides;
  return y;
}

Tensor along_axis(const Tensor& steps, const AttrValue& axis, int64_t ndim) {
  if (axis.none()) return steps.ndim() == 0 ? steps : reshape(steps, {});
  Dims shape(static_cast<size_t>(ndim), 1);
  shape[static_cast<size_t>(normalize_axis(axis.i64(), ndim))] = -1;
  return reshape(steps, shape);
}

}  // namespace hw
