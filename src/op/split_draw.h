// Random ops whose draws do not depend on the values of their input: on a mesh the input may stay split.
#pragma once

#include "op/op_def.h"

namespace hw {

/// From the part of the input that a rank holds, and the parts of the outputs that were drawn for a whole input of ones, to the parts
/// of the outputs. Written with ops.
using SplitDraw = Tensors (*)(const Tensor& input, std::span<const Tensor> drawn, const Attrs& attrs);

/// `static const RegisterSplitDraw split{"_dropout", ...};` beside the op's declaration, for ops with one input and outputs of its shape.
struct RegisterSplitDraw {
  RegisterSplitDraw(const char* op, SplitDraw draw);
};
SplitDraw split_draw_of(const OpDef& op);  // null: the op needs its whole input

}  // namespace hw
