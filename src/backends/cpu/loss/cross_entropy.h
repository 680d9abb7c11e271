// Row functions of cross-entropy for the instruction set in use.
#pragma once

#include <string_view>

#include "kernels/lines/lines.h"

namespace hw {

/// For _cross_entropy (x, target -> loss, lse) and _cross_entropy_grad (x, target, lse, dy -> dx). x and dx are of dtype d; loss,
/// lse and dy of f32, or f64 if d is; target i64. Parameters: ignore_index, label_smoothing.
LineFn find_cross_entropy_row(std::string_view op, DType d);

/// For _class_max, _class_sums and _class_sums_grad in the same way. Parameters: those of ClassScores.
LineFn find_class_scores_row(std::string_view op, DType d);

}  // namespace hw
