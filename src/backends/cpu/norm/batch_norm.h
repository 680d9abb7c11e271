// Loops of batch normalisation over one channel.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace hw {

/// One channel of x [N, C, S...]: `count` runs of `length` elements, `step` elements apart (those of dy `dy_step`). mean, rstd, weight, bias, dweight and
/// dbias are f32, or f64 for f64 data; weight and bias may be null.
struct Channel {
  int64_t count, length, step, dy_step;
  const void *x, *dy;
  void *y, *dx;
  const void *weight, *bias;
  void *mean, *rstd, *dweight, *dbias;
  double eps;
};
using ChannelLoop = void (*)(const Channel& c);

struct BatchNormLoops {
  ChannelLoop forward = nullptr, backward = nullptr;
};
BatchNormLoops find_batch_norm(DType d);  // f16, bf16, f32, f64

}  // namespace hw
