// How requests of layer and RMS normalisation become lines, for the reference kernel and the fast one.
#pragma once

#include "kernels/lines/lines.h"

namespace hw {

/// _layer_norm(x, weight, bias; normalized_shape, eps, centred) and _layer_norm_grad(dy, x, mean, rstd, weight; axes, centred).
/// `row` is the dtype of x, y and their gradients inside the function, `wide` that of all else.
LineSpec layer_norm_lines(const KernelRequest& request, DType row, DType wide);

}  // namespace hw
