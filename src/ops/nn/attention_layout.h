// How the outputs of attention lie in memory.
#pragma once

#include "core/spec.h"

namespace hw {

/// [batch, heads, rows, width] in the order of `like`: where its heads lie inside of its rows, as they do when one linear layer
/// made all heads, so do those of the result, and the linear layer behind it reads them without a copy.
inline TensorSpec laid_out_as(const TensorSpec& like, DType dtype, Dims shape) {
  TensorSpec s;
  s.dtype = dtype, s.shape = std::move(shape);
  const int64_t heads = s.shape[1], rows = s.shape[2], width = s.shape[3];
  if (like.ndim() == 4 && !like.strides.empty() && heads > 1 && rows > 1 && like.strides[1] < like.strides[2] &&
      s.numel() > 0)
    s.strides = {rows * heads * width, width, heads * width, 1};
  return s;
}

}  // namespace hw
