// What operators on square matrices share.
#pragma once

#include "op/op_def.h"

namespace hw {

/// The axes before the last two may be split, the same in all inputs.
void split_batches(SbpCtx& c);
/// That the last two axes are there and equal.
void check_square(const TensorSpec& x);

}  // namespace hw
