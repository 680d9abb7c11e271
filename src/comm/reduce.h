// Joins the same piece of several ranks, element by element and in the order given.
#pragma once

#include <span>

#include "comm/comm.h"

namespace hw {

/// Empty if `reduce` can be done on `dtype`, else why not.
std::string cannot_reduce(DType dtype, Reduce reduce);

/// out[k] = sources[0][k] (+) sources[1][k] (+) ...; `out` may be one of the sources. 16-bit floats are joined in float32.
void reduce_elements(void* out, std::span<const void* const> sources, int64_t count, DType dtype, Reduce reduce);

}  // namespace hw
