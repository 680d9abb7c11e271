// Row functions of the softmax family for the instruction set in use.
#pragma once

#include <string_view>

#include "kernels/lines/lines.h"

namespace hw {

/// For softmax, log_softmax and their gradients; operands contiguous and of dtype d (f16, bf16, f32, f64).
LineFn find_softmax_row(std::string_view op, DType d);

/// The same for lines side by side. The scratch of a block: for the forward ops one value as wide as the computation per element,
/// for all of them two per line.
LineBlockFn find_softmax_block(std::string_view op, DType d);

}  // namespace hw
