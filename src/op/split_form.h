// What an op does on a mesh where none of its SBP signatures leaves its inputs where they are: other ways to the same result.
#pragma once

#include "op/op_def.h"

namespace hw {

/// The op expressed with ops that have such signatures: a mean as a sum and a quotient. Used instead of moving inputs.
using SplitForm = Tensors (*)(std::span<const Tensor> in, const Attrs& attrs);

/// A random op with one input whose draws do not depend on the input's values: from the part of the input that a rank holds, and the
/// parts of the outputs that were drawn for a whole input of ones, to the parts of the outputs. Written with ops.
using SplitDraw = Tensors (*)(const Tensor& input, std::span<const Tensor> drawn, const Attrs& attrs);

/// `static const RegisterSplitForm form{"mean", ...};` beside the op's declaration.
struct RegisterSplitForm {
  RegisterSplitForm(const char* op, SplitForm form);
  RegisterSplitForm(const char* op, SplitDraw draw);
};
SplitForm split_form_of(const OpDef& op);  // null: it has none
SplitDraw split_draw_of(const OpDef& op);

}  // namespace hw
