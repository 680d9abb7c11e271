// The elements of a constant one after the other, in row-major order whatever its strides.
#pragma once

#include "core/tensor.h"

namespace hw {

/// Calls f(address) for each element.
template <class F>
void for_each_element(const Tensor& t, F&& f) {
  if (t.numel() == 0) return;
  const Dims &shape = t.shape(), &strides = t.strides();
  const int64_t size = dtype_size(t.dtype());
  char* at = static_cast<char*>(t.data());
  Dims index(shape.size(), 0);
  for (;;) {
    f(static_cast<void*>(at));
    size_t axis = shape.size();
    for (; axis-- > 0;) {
      at += strides[axis] * size;
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * size * shape[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

}  // namespace hw
