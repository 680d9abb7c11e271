// Whether two tensors show the same memory.
#pragma once

#include "core/tensor.h"

namespace hw {

/// False only when no element of `a` shares a byte with one of `b`.
bool may_meet(const Tensor& a, const Tensor& b);
/// Whether element i of `a` is element i of `b`, for all i.
bool same_memory(const Tensor& a, const Tensor& b);

}  // namespace hw
