// Row functions of layer and RMS normalisation for the instruction set in use.
#pragma once

#include "kernels/lines/lines.h"

namespace hw {

struct LayerNormRows {
  /// in: x, weight, bias; out: y, mean, rstd; params: eps. Weight, bias and statistics are f32 (f64 for f64).
  LineFn forward = nullptr;
  /// in: dy, x, mean, rstd, weight; out: dx, dweight, dbias (the last two are added to).
  LineFn backward = nullptr;
};
/// `centred`: layer normalisation; else RMS.
LayerNormRows find_layer_norm_rows(DType d, bool centred);

}  // namespace hw
