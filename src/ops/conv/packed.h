// Sizes of _conv2d_packed, read from its input and its packed weight.
#pragma once

#include "op/op_def.h"

namespace hw {

struct PackedSizes {
  int64_t in_channels = 0, out_channels = 0, groups = 1, block_in = 1, block_out = 8;
  int64_t kernel[2] = {1, 1};
};

/// Throws where input and weight do not fit together.
PackedSizes packed_sizes(const InferCtx& c);

}  // namespace hw
