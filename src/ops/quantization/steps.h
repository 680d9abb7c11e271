// What the quantising operators share: which scale belongs to which element, and the range of the integers.
#pragma once

#include "op/op_def.h"

namespace hw {

constexpr DTypeSet quantized_types =
    dtype_bit(DType::U8) | dtype_bit(DType::I8) | dtype_bit(DType::I16) | dtype_bit(DType::I32);

/// The attribute `axis` counted from the front; -1 for one scale for all. Throws unless scale and zero_point fit the input.
int64_t steps_axis(const InferCtx& c);

/// The input's axes may be split, its `axis` together with scale and zero_point.
void steps_sbp(SbpCtx& c);

/// The integers that `dtype` holds.
struct IntegerRange {
  int64_t low, high;
};
IntegerRange integer_range(DType dtype);

/// That quant_min < quant_max.
void check_range(int64_t low, int64_t high);

/// An output of the input's shape, in the input's order of axes where its memory has no gaps.
TensorSpec like_input(const TensorSpec& input, DType dtype);

/// One scale per index of `axis`, shaped to broadcast with a tensor of `ndim` axes; as it is if there is one for all.
Tensor along_axis(const Tensor& steps, const AttrValue& axis, int64_t ndim);

}  // namespace hw
